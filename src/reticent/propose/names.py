"""What a column's name says about it, in several languages. Accents, case and word separators do not matter."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping

Meaning = str
"""One of ``identifier``, ``key``, ``age``, ``postcode``, ``birth``, ``demographic``, ``place``, ``weight``, or of :data:`SENSITIVE`."""

SENSITIVE = ("health", "belief", "money")
"""What must not be learned about anybody, the most delicate first."""


def _listed(words: str) -> tuple[str, ...]:
    """Words that stand in a text."""
    return tuple(words.split())


# Whole words. English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish; some in other scripts.
_WORDS: Mapping[Meaning, str] = {
    "identifier": """
        name names surname forename firstname lastname fullname maidenname username login email mail phone telephone mobile cell fax
        ssn sin nino nhs nhsnumber passport licence license plate iban account card address street url website ip mac
        nachname vorname familienname rufname telefon handy anschrift strasse hausnummer ausweis kontonummer steuernummer
        nom prenom courriel adresse rue telephone portable securite
        nombre apellido apellidos correo telefono movil direccion calle dni nie nif pasaporte
        cognome nome indirizzo cellulare codicefiscale via sobrenome apelido endereco telemovel cpf morada
        naam voornaam achternaam straat telefoonnummer bsn imie nazwisko pesel adres telefonu namn fornamn efternamn personnummer adress
        имя фамилия отчество телефон адрес 姓名 氏名 名前 电话 電話 地址 住所 اسم الاسم هاتف שם טלפון כתובת
        mrn medicalrecord recordnumber healthplan beneficiary policyholder vin serial imei device fingerprint photo
    """,
    "key": """
        id uid uuid guid key pid usubjid subjid subjno respond respondent patientid personid userid customerid clientid memberid subjectid caseid respondentid hid
        idno idnum idnr idcode seqn seqno seqnum caseno rownames rownum rowname recno
        nr nummer numero identifiant identificador kennung patientennummer kundennummer matricule codigo
    """,
    "age": """
        age ages agey agem agea agegrp agegp agecat ageyr ageyrs agemos mage fage hage alter edad eta idade leeftijd wiek alder alder edat возраст 年龄 年齢 عمر العمر גיל
    """,
    "postcode": """
        zip zipcode postcode postal postalcode plz postleitzahl codepostal cp codigopostal cap cep postnummer kodpocztowy
        почтовыйиндекс 邮编 郵便番号 מיקוד
    """,
    "birth": """
        birthdate dateofbirth dob birthday born birth birthyear yearborn yrborn yob mnthborn monthborn geburtsdatum geburtstag naissance datenaissance nacimiento fechanacimiento
        nascita datanascita nascimento geboortedatum dataurodzenia fodelsedatum
    """,
    "demographic": """
        sex gender female male black white nonwhite asian hispan hisp latino eth ethn ethnik minority foreign immigrant migrant
        geschlecht sexe sexo sesso geslacht plec kon пол 性别 性別 جنس מין
        race ethnicity ethnic hispanic etni rasse raza etnia nationality nationalitat nationalite nacionalidad nazionalita nationaliteit
        citizenship citizen country land pays pais paese kraj birthplace native origin state province region county city town
        municipality district canton bundesland ort stadt gemeinde ville commune ciudad provincia comune citta gemeente miasto fips
        marital maritalstatus married marr single divorced widowed mars marstat marst maritl marsta mstat maritstat civil familienstand etatcivil estadocivil statocivile burgerlijkestaat spouse
        education educ edu edlevel eduyrs educyrs yrseduc college highschool schooling school grade degree bildung schulabschluss educacion istruzione opleiding
        occ occup occupation job profession rank selfemp unemployed ind industry naics esr schl rac beruf metier profesion professione beroep workclass employment employer labor labour
        urban rural suburban village smsa msa south north east west northeast northcentral midwest
        household hhsize famsize familysize kids nkids numkids dependents dependants numdep parity children childs childrens xtot nu18 n21 hhcivil relat relationship urbrur height hgt language
        admission admitted discharge visit death deathday deathmon
    """,
    "health": """
        health hlth disease diagnosis diagnoses stroke angina asthma hypertension highbp arthritis obesity infection hospitalized hospitalised suicide
        mental anxiety alcohol cocaine heroin marijuana cigs cigarettes condition illness disorder icd icd10 treatment medication drug hiv therapy symptom injury outcome
        krankheit diagnose befund behandlung erkrankung maladie diagnostic traitement enfermedad diagnostico tratamiento malattia diagnosi
        dx diag diagn icd9 comorbidity cancer diabetes depression disability bmi bloodpressure cholesterol pregnancy pregnant smoker smoking
        doenca ziekte choroba rozpoznanie sjukdom диагноз болезнь 疾病 诊断 診断 مرض אבחנה genetic abortion
    """,
    "belief": """
        religion relig church catholic protestant muslim jewish faith politics political party vote ideology orientation offence crime conviction union konfession partei parti partido partito
    """,
    "money": """
        salary income hrwage lwage wealth networth mortgage loan loans rent balance expenditure tax taxes wage wages pay earnings gehalt lohn einkommen salaire revenu salario sueldo ingreso ingresos stipendio reddito renda
        salaris inkomen pensja dochod inkomst agi inc hinc pinc rinc rincome realinc wagp earn earns faminc hhinc wealth savings debt debts assets credit creditscore cost costs expend charge
    """,
    "weight": """
        weight weights wgt wt fnlwgt fnlwt pwgt hwgt perwt hhwt asecwt instwt wtssall wtss wtfa weightvec pweight
        gewicht poids peso ponderacion pondera waga vikt
    """,
    "place": "lat lon lng long latitude longitude latitud longitud breitengrad laengengrad geolat geolon geolong",
}
# Beginnings of words that are long enough to be meant.
_STEMS: Mapping[Meaning, tuple[str, ...]] = {
    "health": _listed(
        "diagnos diseas krankheit medic injur hospit infect smok cigar alcohol marij cancer diabet depress"
    ),
    "belief": ("religi", "vote", "politic", "catholic", "protestant"),
    "money": ("salar", "incom", "einkommen", "faminc", "mortgag", "expendit", "totinc", "hinc"),
    "identifier": ("surname", "lastname", "firstname", "telephon", "passport", "nachname", "vorname"),
    "postcode": ("zipcode", "postcode", "postleit"),
    "demographic": ("educat", "school", "marital", "nationalit", "ethnic", "occupat", "gender", "hispan"),
    "weight": ("samplingweight", "sampleweight", "finalweight", "surveyweight", "personweight", "weight"),
}
# Ends of words that nothing else has: lhrwage, hhninc, gdhlth, fatheduc, brcancer, pspwght.
_ENDS: Mapping[Meaning, tuple[str, ...]] = {
    "health": ("hlth", "health", "cancer", "disease"),
    "money": ("wage", "wages", "income", "salary", "inc", "earn", "earnings", "pay"),
    "demographic": ("educ", "kids", "white", "married"),
    "weight": ("weight", "wght", "wgt"),
}
# Words that end so by chance.
_OTHER_ENDS = frozenset(
    _listed(
        """
        since zinc province prince convince quinc page stage wage image usage storage message average percentage
        package language passage marriage damage village college coverage mortgage manage engage garage garbage
        message acreage mileage postage linkage leakage triage voltage dosage outage drainage advantage repay prepay
        copay spay learn adage cottage courage sewage savage sausage baggage luggage shortage wastage
        """
    )
)
# What surveys put before and after a word: iinjury, realrinc; agep, racef, educcat, occrecode.
_BEFORE = ("i", "r", "real", "final", "hh", "h", "fam", "tot", "total", "respondent", "resp", "per", "n", "num")
_AFTER = _listed("p f r a x cat rec recode code cd grp group num no yrs years gr lvl class")
# Whose number ends in "id": a child, not a kid; a case, not covid.
_NUMBERED = frozenset(
    _listed(
        """
        child school case person patient subject hh house household family fam mother father student pupil teacher
        doctor respondent resp emp employee worker firm indiv individual cust customer user member client record row
        study participant survey interview voter woman man couple twin pers cow clust cluster ps
        """
    )
)
_SHORT = frozenset(["age", "sex", "occ", "ind", "inc", "wgt", "rac", "icd"])
_AMBIGUOUS = frozenset(["weight", "weights", "wt", "wgt", "wght", "gewicht", "poids", "peso", "waga", "vikt"])
_ORDER = ("place", "weight", "birth", "postcode", "age", *SENSITIVE, "identifier", "key", "demographic")
_KNOWN: Mapping[str, Meaning] = {
    word: meaning for meaning in reversed(_ORDER) for word in _listed(_WORDS.get(meaning, ""))
}
_EXCEPTIONS = {
    "weight": _listed(
        """
        body kg lb lbs birth kilo kilos gram grams mother baby bodyweight birthweight bwght lbwght bweight bwt
        lowbirthweight
        """
    )
}


def meaning_of(name: str) -> Meaning | None:
    """What the name says, or nothing. The more specific meaning wins: a date of birth is no mere date."""
    words = words_of(name)
    joined = "".join(words)
    candidates = [joined, *("".join(pair) for pair in itertools.pairwise(words)), *words]
    found = {_KNOWN[word] for word in candidates if word in _KNOWN} or {
        _KNOWN[inner] for word in words for inner in _inside(word) if inner in _KNOWN
    }
    if any(word.endswith("id") and word.removesuffix("id") in _NUMBERED for word in words):
        found.add("key")
    for meaning, stems in _STEMS.items():
        if any(word.startswith(stems) for word in words):
            found.add(meaning)
    if not found:
        found = {meaning for meaning, ends in _ENDS.items() if any(_ends_so(word, ends) for word in words)}
    for meaning, exceptions in _EXCEPTIONS.items():
        if any(word in exceptions for word in words):
            found.discard(meaning)
    if "birth" in found and {"weight", "wt", "wgt", "order"} & set(words):
        found.discard("birth")
    if found == {"identifier", "demographic"} and words and words[-1] in ("name", "names"):
        return "demographic"
    return next((meaning for meaning in _ORDER if meaning in found), None)


def _ends_so(word: str, ends: tuple[str, ...]) -> bool:
    """Whether a word ends with one of these and a few letters stand before: ``lhrwage``, but not ``since``."""
    bare = word.rstrip("0123456789")
    return bare not in _OTHER_ENDS and any(bare.endswith(end) and 0 < len(bare) - len(end) <= 6 for end in ends)


def says_number_of_somebody(name: str) -> bool:
    """Whether the name ends in "id" as names of keys do, and not as ``paid`` and ``covid`` do."""
    return any(word.endswith("id") and len(word) > 4 and not word.endswith(_NO_KEYS) for word in words_of(name))


_NO_KEYS = _listed(
    """
    paid covid void olid luid acid grid said igid alid roid ioid ipid kid aid tid bid hybrid humid rapid
    """
)


def _inside(word: str) -> list[str]:
    """The word without what surveys put around words; three letters must be left, or a page would have an age."""
    bare = word.rstrip("0123456789")
    cores = [bare, *(bare.removesuffix(end) for end in _AFTER if bare.endswith(end))]
    cores += [core.removeprefix(start) for core in cores for start in _BEFORE if core.startswith(start)]
    return [core for core in cores if core != word and len(core) >= 3 and (len(core) > 3 or core in _SHORT)]


_VISIBLE = frozenset(
    _listed(
        """
        sex gender race female male black white hispanic ethnicity height geschlecht sexe sexo sesso region state
        county city nonwhite asian hispan hisp eth ethn ethnic racef hgt kids children village town married
        """
    )
)
_NOMINAL = frozenset(
    _listed(
        """
        race racea raceth ethnicity ethnic hispanic region state statefip fips county province district country nation
        nationality birthplace origin marital marst mars marstat maritl maritalstatus religion relig party occ
        occupation ind industry sector branch relat relationship wrkstat workclass esr msa site center centre hospital
        clinic school group treatment arm plan language sex gender civil familienstand beruf city town code category
        type kind cause occup married inst instit cond condition stratum method pid action strata psu
        """
    )
)
_RECORDED = frozenset(
    _listed(
        """
        score scores scale test exam grade grades gpa iq sat act math verbal reading item question answer rating index
        visits days hours minutes time duration level dose lab count ratio rate amount number trust agree opinion
        attitude importance satisfaction happy happiness knowledge
        """
    )
)


def is_nominal(name: str) -> bool:
    """Whether numbers under this name are codes of categories, whose order means nothing."""
    words = words_of(name)
    bare = [word.rstrip("0123456789") for word in words]
    return any(word in _NOMINAL for word in (*words, *bare)) or any(
        inner in _NOMINAL for word in words for inner in _inside(word)
    )


def is_visible(name: str) -> bool:
    """Whether it can be seen of a person, or is asked everywhere."""
    return any(word.rstrip("0123456789") in _VISIBLE for word in words_of(name))


def says_record(name: str) -> bool:
    """Whether the name says that it stands in records only: scores, answers, measurements."""
    words = words_of(name)
    return any(word in _RECORDED for word in words) or any(re.fullmatch(r"q\d+\w*", word) for word in words)


def says_survey(name: str) -> bool:
    """Whether the name of a weight can only be that of a survey, and not of a body or a parcel."""
    return "".join(words_of(name)).rstrip("0123456789") not in _AMBIGUOUS


def words_of(name: str) -> list[str]:
    """The words of a name: ``PatientID_2`` is ``patient``, ``id``, ``2``."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain.replace("ß", "ss"))
    return [word.lower() for word in re.split(r"[\W_]+", plain) if word]
