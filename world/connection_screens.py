r"""The login screen. Evennia shows the one public string of this module.

`|` begins a colour code; `||` shows the character itself.
"""

CONNECTION_SCREEN = r"""
               |y.         .|n
           |y'|n      _/^\_      |y'|n
         |y-  -|n    [ |Y(*)|n ]    |y-  -|n      |wThe Lantern Library|n
           |y.|n     /=====\     |y.|n        an old lighthouse full of books
               |y'|n ||     || |y'|n
                 ||  _  ||
                /  || ||  \
   |b~~~~~~~~~~~~|n/___||_||___\|b~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|n

   New here?      |wcreate <name> <password>|n   then   |wconnect <name> <password>|n
   Been before?   |wconnect <name> <password>|n

   |wlook|n shows this again, |whelp|n says more, |wquit|n leaves.
"""
