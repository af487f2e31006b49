"""Rights: acts and who may do them, web callers, their access tokens, and private words.

The names that a game's own code may use are re-exported here.
"""

from evennia_ai.operations.rights.acts import ACTS as ACTS
from evennia_ai.operations.rights.acts import find_all_allowed as find_all_allowed
from evennia_ai.operations.rights.acts import is_allowed as is_allowed
from evennia_ai.operations.rights.acts import may_control as may_control
from evennia_ai.operations.rights.acts import refusal as refusal
from evennia_ai.operations.rights.acts import refuse_control as refuse_control
from evennia_ai.runtime.rights import OF_THE_BODY as OF_THE_BODY
from evennia_ai.runtime.rights import Right as Right
from evennia_ai.runtime.rights import is_staff as is_staff
from evennia_ai.runtime.rights import seen as seen
