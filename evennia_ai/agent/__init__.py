"""A turn from the ear to the mouth: hearing, queue, preparation, end, and acting unasked."""
