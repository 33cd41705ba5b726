"""What a shop and its help desk write down: who ordered what, what went wrong, what was promised."""

from __future__ import annotations

from sfumato.records.writing import ideas

PRODUCTS = (
    "a folding bicycle", "a coffee grinder", "a set of copper pans", "a garden bench", "an electric piano",
    "a camping stove", "a bookshelf", "a fish tank", "a leather jacket", "a sewing machine", "a telescope",
    "a pair of hiking boots", "a waffle iron", "a desk lamp", "a rowing machine", "a rain barrel",
    "a chess clock", "a child seat", "a kayak", "a cordless drill", "a record player", "a wool blanket",
    "a wine cooler", "a ladder", "a microscope", "a pressure cooker", "a mattress", "a tent for four",
)  # fmt: skip

OPENINGS = ideas("""
{Name} from {city} ordered {product} on {weekday}.
    | An order from {name}, {city}, for {product}, placed on {weekday}.
{Name}, {age}, of {city}, wrote to us about {product}.
    | About {product} we heard from {name} in {city}, {age} years old.
A {person} from {city}, {name}, bought {product} in the spring sale.
    | In the spring sale {name} of {city} bought {product}.
Our shop in {city} sold {product} to {name}.|{Name} picked up {product} at the {city} branch.
{Name} called from {city}: it is about {product}.|Telephone note, {name}, {city}, concerning {product}.
The {job} {name} in {city} received {product} after {number} days.
    | After {number} days {product} reached {name}, a {job} in {city}.
{Relative} of {name} in {city} won {product} in the draw.|In the draw {product} went to {name}, {city}.
{Name}, {age} years old and from {city}, returned {product}.
    | Returned by {name} ({age}), {city}: {product}.
""")

MATTERS = ideas("""
The courier left the box in the rain and the corner is soaked.
    | Box wet at one corner, the driver had left it outside.
The invoice shows the old address and has to be written again.
    | A new invoice is due, the address on it was outdated.
One screw is missing and the manual is only in Finnish.|No English manual in the box, and a screw short.
{He} would like to change the colour before it is shipped.
    | Another colour, please, as long as it has not left.
{He} was charged twice and wants the second sum back.
    | The card was debited two times, one must be refunded.
The gift card was not accepted at the till.|At the till the gift card failed.
{He} asks whether it fits through a narrow door.|Will it go through a narrow doorway, {he} wonders.
It makes a rattling noise after {number} minutes.|After {number} minutes something starts to rattle.
{He} praised the patience of our colleague on the phone.|Kind words for the colleague who took the call.
{He} wants to be taken off the mailing list for good.|No more newsletters, {he} insists.
Delivery is only possible after {number} in the evening.
    | Please deliver in the evening, not before {number}.
The neighbour signed for it and now nobody finds it.|Signed for next door and not seen since.
{He} asks for a discount because the display model was scratched.
    | Scratches on the display piece: could it be cheaper?
It was a present and {relative} already had one.|{Relative} owns one already, so the present goes back.
{He} needs a receipt for the tax office in three copies.|The tax office wants the receipt three times.
The warranty ended last week, but we made an exception.|Out of warranty by days, repaired all the same.
{He} found the same thing cheaper at a rival.|A competitor sells it for less, {he} says.
The app does not connect since the update.|Since the last update the app finds nothing.
{He} offered to send a film of the fault.|A short film of the defect will follow.
We sent a replacement, which also arrived broken.|The substitute came in pieces too.
{He} forgot the password and the reset mail never came.|Locked out, and no mail to reset the password.
The loyalty points disappeared from the account.|All collected points are gone.
{He} wants to cancel, though the workshop has already engraved it.
    | Engraved already, and now {he} cancels.
An old one should be taken away when the new one comes.|Please collect the worn-out one on delivery.
{He} asked for a quote for {number} pieces for a club.|A club needs {number} of them, price requested.
The photographs on the page show another model.|Pictures on the site do not match the item.
{He} has a question about the battery on aeroplanes.|May the battery be taken on a plane?
The assembly team did not turn up on {weekday}.|On {weekday} nobody came to put it together.
{He} will pay by transfer and not by card.|Card refused, the money comes by transfer.
{He} left a harsh review and took it down again.|A bad review appeared and vanished.
""")

PROMISES = ideas("""
We promised an answer by {weekday}.|Answer due on {weekday}.
A voucher was offered and accepted.|Settled with a voucher.
The matter went to the manager.|Passed on to the manager.
We wait for the courier to reply.|The courier has been asked.
Closed to everyone's satisfaction.|Case closed, all content.
Part of the price was paid back.|A partial refund was made.
""")

CLOSINGS = ideas("""
Contact: {email}.|Mail to {email}.
Phone {phone}.|Call back at {phone}.
""")
