"""What a column's name says about it, in several languages. Accents, case and word separators do not matter."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping

Meaning = str
"""One of ``identifier``, ``key``, ``age``, ``postcode``, ``birth``, ``demographic``, ``weight``, or of :data:`SENSITIVE`."""

SENSITIVE = ("health", "belief", "money")
"""What must not be learned about anybody, the most delicate first."""

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
        id uid uuid guid key pid patientid personid userid customerid clientid memberid subjectid caseid respondentid hid
        nr nummer numero identifiant identificador kennung patientennummer kundennummer matricule codigo
    """,
    "age": """
        age ages alter edad eta idade leeftijd wiek alder alder edat возраст 年龄 年齢 عمر العمر גיל
    """,
    "postcode": """
        zip zipcode postcode postal postalcode plz postleitzahl codepostal cp codigopostal cap cep postnummer kodpocztowy
        почтовыйиндекс 邮编 郵便番号 מיקוד
    """,
    "birth": """
        birthdate dateofbirth dob birthday born birth geburtsdatum geburtstag naissance datenaissance nacimiento fechanacimiento
        nascita datanascita nascimento geboortedatum dataurodzenia fodelsedatum
    """,
    "demographic": """
        sex gender geschlecht sexe sexo sesso geslacht plec kon пол 性别 性別 جنس מין
        race ethnicity ethnic hispanic etni rasse raza etnia nationality nationalitat nationalite nacionalidad nazionalita nationaliteit
        citizenship citizen country land pays pais paese kraj birthplace native origin state province region county city town
        municipality district canton bundesland ort stadt gemeinde ville commune ciudad provincia comune citta gemeente miasto fips
        marital maritalstatus married mars civil familienstand etatcivil estadocivil statocivile burgerlijkestaat spouse
        education educ schooling school degree bildung schulabschluss educacion istruzione opleiding
        occupation job profession beruf metier profesion professione beroep workclass employment employer labor labour
        household hhsize familysize children childs childrens xtot nu18 n21 hhcivil relat relationship urbrur height language
        admission admitted discharge visit death deathday deathmon
    """,
    "health": """
        disease diagnosis diagnoses condition illness disorder icd icd10 treatment medication drug hiv therapy symptom injury outcome
        krankheit diagnose befund behandlung erkrankung maladie diagnostic traitement enfermedad diagnostico tratamiento malattia diagnosi
        doenca ziekte choroba rozpoznanie sjukdom диагноз болезнь 疾病 诊断 診断 مرض אבחנה genetic abortion
    """,
    "belief": """
        religion faith politics party vote ideology orientation offence crime conviction union konfession partei parti partido partito
    """,
    "money": """
        salary income wage wages pay earnings gehalt lohn einkommen salaire revenu salario sueldo ingreso ingresos stipendio reddito renda
        salaris inkomen pensja dochod lon inkomst agi wealth savings debt debts assets credit score cost costs expend charge
    """,
    "weight": """
        weight weights wgt wt fnlwgt samplingweight sampleweight gewicht poids peso ponderacion pondera waga vikt
    """,
}
# Beginnings of words that are long enough to be meant.
_STEMS: Mapping[Meaning, tuple[str, ...]] = {
    "health": ("diagnos", "diseas", "krankheit", "medic"),
    "belief": ("religi", "vote"),
    "money": ("salar", "incom", "einkommen", "faminc"),
    "identifier": ("surname", "lastname", "firstname", "telephon", "passport", "nachname", "vorname"),
    "postcode": ("zipcode", "postcode", "postleit"),
    "demographic": ("educat", "marital", "nationalit", "ethnic", "occupat", "gender"),
    "weight": ("weight",),
}
_ORDER = ("weight", "birth", "postcode", "age", *SENSITIVE, "identifier", "key", "demographic")
_KNOWN: Mapping[str, Meaning] = {
    word: meaning for meaning in reversed(_ORDER) for word in _WORDS.get(meaning, "").split()
}
_EXCEPTIONS = {"weight": ("body", "kg", "lb", "lbs", "birth")}


def meaning_of(name: str) -> Meaning | None:
    """What the name says, or nothing. The more specific meaning wins: a date of birth is no mere date."""
    words = words_of(name)
    joined = "".join(words)
    candidates = [joined, *("".join(pair) for pair in itertools.pairwise(words)), *words]
    found = {_KNOWN[word] for word in candidates if word in _KNOWN}
    for meaning, stems in _STEMS.items():
        if any(word.startswith(stems) for word in words):
            found.add(meaning)
    for meaning, exceptions in _EXCEPTIONS.items():
        if any(word in exceptions for word in words):
            found.discard(meaning)
    if found == {"identifier", "demographic"} and words and words[-1] in ("name", "names"):
        return "demographic"
    return next((meaning for meaning in _ORDER if meaning in found), None)


def words_of(name: str) -> list[str]:
    """The words of a name: ``PatientID_2`` is ``patient``, ``id``, ``2``."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain.replace("ß", "ss"))
    return [word.lower() for word in re.split(r"[\W_]+", plain) if word]
