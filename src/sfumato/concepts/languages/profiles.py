"""Frequent words of languages in Latin letters, and letters that tell them: our own selection."""

from __future__ import annotations

from collections import Counter

NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "cyrl": "a language in Cyrillic letters",
    "grek": "Greek",
    "arab": "a language in Arabic letters",
    "hebr": "Hebrew",
    "deva": "a language in Devanagari",
    "thai": "Thai",
    "scri": "a language in another script",
}
"""Every code a guess may give, and how it is said."""

LATIN = ("en", "de", "fr", "es", "it", "pt", "nl")
"""Those in Latin letters."""

WORDS: dict[str, frozenset[str]] = {
    code: frozenset(word for word in words.split() if len(word) > 1)  # letters stand for anything
    for code, words in {
        "en": """
the of and to in is that was for it with as his on be at by had are this but from have which you were they
not she her him been has their would there what when who will more no if out so said up about than them can
only other time new some could these two may first then do any like my now over such our man me even most
made after also did many off before must well back through years where much your way down should because
each just those people mr how too little state good very make world still see own work here get between both
under never day same another know while last might us great old year come since against go came right used
take three i an we he or all into its patient history noted denies reports without yesterday today says
against beat at vs percent told week
""",
        "de": """
der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat
dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis
mehr durch man sein wurde sei hatte kann gegen vom können schon wenn habe seine ihre dann unter wir soll ich
eines jahr zwei jahren diese dieser wieder keine seit mich mir uns unser kein ihr ihm ihn sehr weil wurden
patient patientin frau herr klagt leidet heute gestern morgen jahre alt wohnt bitte danke guten tag unsere
meine mein wegen ohne zwischen beim nun hier dort worden immer etwas viel sowie befund verdacht
""",
        "fr": """
le la les de des du et en un une que est pour qui dans a par plus pas au sur ne se ce il sont la avec son
aux d l qu c n s je vous nous elle mais ou si leur sans tout cette être fait comme ont été ses ces après
deux ans même aussi bien depuis mon ma mes votre notre nos vos lui était avait chez entre sous vers très
peut où donc dont quand encore avant jour hier demain aujourd patient patiente monsieur madame souffre
bonjour merci habite année mois semaine toujours ainsi selon lors rien faire il y ils elles eux cet sera
""",
        "es": """
de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin
sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está mi porque
qué sólo han yo hay vez puede todos así nos ni parte tiene él uno donde bien tiempo mismo ese ahora cada
vida otro después te otros aunque esa eso hace otra gobierno tan durante siempre día tanto ella tres sí dijo
sido gran país según menos año antes estado contra sino forma caso nada paciente presenta refiere vive hoy
ayer mañana señor señora hola gracias edad nuestro nuestra usted
""",
        "it": """
di e il la che è per un in non a del una della con sono i da al dei le si nel alla lo ha più gli anche come
dal delle o questo ma se ci alle essere nella loro era stato suo dopo anni molto tra sua due fra anno prima
quando sia hanno ancora poi degli stata dalla ai dove cui fatto sul solo già senza così ogni quello oggi
mio mia paziente signora signor buongiorno grazie ieri domani perché ho abbiamo negli dello questa sulla
""",
        "pt": """
de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu
sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos
ter seus quem nas me esse eles estão você tinha foram essa num nem suas meu às minha têm numa pelos anos
paciente senhor senhora hoje ontem amanhã obrigado obrigada dia apresenta sobre ainda são nós dois
""",
        "nl": """
de van het een en in is dat op te zijn met voor niet aan er om ook als dan maar bij of uit nog worden door
naar heeft hij ze wordt tot je mijn deze over zo hebben kan geen meer wat werd wel haar was dit onder ik we
zich hun die nu al had tegen veel omdat toen moet zonder kunnen hier waar jaar twee gaan altijd patiënt
mevrouw meneer vandaag gisteren morgen bedankt ons onze u jaren tussen toch na
""",
    }.items()
}

_SHARED = Counter(word for words in WORDS.values() for word in words)
WHOLE = 420
"""What a word of one language says for it; whole numbers, as sums must not depend on their order."""
WEIGHTS: dict[str, tuple[tuple[str, int], ...]] = {
    word: tuple((code, WHOLE // count) for code, words in WORDS.items() if word in words)
    for word, count in _SHARED.items()
}
"""What a word says for each language it is frequent in; a word of several says less for each."""

LETTERS: dict[str, tuple[str, ...]] = {
    "ß": ("de",),
    "ä": ("de",),
    "ö": ("de",),
    "ü": ("de", "es"),
    "ñ": ("es",),
    "¿": ("es",),
    "¡": ("es",),
    "ó": ("es", "pt"),
    "í": ("es", "pt"),
    "á": ("es", "pt"),
    "ú": ("es", "pt"),
    "é": ("fr", "es", "pt", "it"),
    "ã": ("pt",),
    "õ": ("pt",),
    "ç": ("fr", "pt"),
    "è": ("fr", "it"),
    "ê": ("fr", "pt"),
    "à": ("fr", "it", "pt"),
    "â": ("fr", "pt"),
    "î": ("fr",),
    "ô": ("fr", "pt"),
    "û": ("fr",),
    "œ": ("fr",),
    "ë": ("nl", "fr"),
    "ï": ("nl", "fr"),
    "ò": ("it",),
    "ù": ("fr", "it"),
    "ì": ("it",),
}
"""Letters beyond a to z that a language writes."""
