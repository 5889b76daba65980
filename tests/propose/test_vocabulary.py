"""Names of columns mean what a data steward reads in them, in every language, in compounds and in abbreviations."""

from __future__ import annotations

import random

import polars as pl
import pytest

from reticent.propose import propose
from reticent.propose.names import kind_of

SENSITIVE: dict[str, str] = {
    "health": """
        hiv HIV_result hiv2004 HIVresult covid covid_result covid19 COVID-19 syphilis gonorrhea chlamydia diabetes drug_abuse test_result TestResult labResult Befund diagnosis dx
        symptoms medication disability pregnant abortion addiction depression death cause_of_death survived relapse sbp dbp blood_pressure bloodPressure chol
        hba1c HbA1c CD4 tumour_stage tumor_size health_costs doctor_visits docvis numberOfDoctorVisits hospital_days bmi birth_weight smoker cigs alcohol
        treatment trt tx vaccinated hypertension arthritis iinjury gdhlth phq9 suicide_attempts
        Krankheit Krankheitstage Diagnosen Blutdruck Behandlung Schwangerschaft Behinderung Todesursache Raucher Körpergewicht Koerpergewicht
        adverse_events nrAdvE side_effects Nebenwirkungen
        maladie traitement grossesse décès fumeur handicap dépression enfermedad embarazo tratamiento fallecido malattia gravidanza fumatore
        doença gravidez ziekte Ziektedagen behandeling zwangerschap choroba leczenie ciąża niepełnosprawność sjukdom Sjukdagar behandling
        диагноз болезнь беременность курение 疾病 诊断 怀孕 吸烟 診断 妊娠 喫煙 مرض التشخيص אבחנה היריון
    """,
    "money": """
        income Einkommen Haushaltseinkommen Nettoeinkommen household_income hhinc faminc lfaminc lwage ln_wage realrinc hourlyWage salary annual_salary earnings re78
        lweekinc ses socioeconomic_status Sozialstatus
        wealth net_worth debts loan_amount loan_denied mortgage default credit_score bankruptcy benefits food_stamps tax_paid rent total_expenditure overdrawn
        Gehalt Bruttolohn Schulden Vermögen Miete Kredit salaire revenu_mensuel loyer dette salario ingresos deuda stipendio reddito debito renda dívida
        inkomen Jaarinkomen schulden uitkering dochód dochody kredyt inkomst Hushållsinkomst skulder доход зарплата кредит 收入 家庭收入 工资 贷款 収入 給与 年収 دخل راتب הכנסה משכורת
    """,
    "sexuality": """
        sexual_orientation gay affairs naffairs number_of_sex_partners condom_use wants_children Kinderwunsch sexuelle_Orientierung orientation_sexuelle
        orientación_sexual orientamento_sessuale seksuele_geaardheid orientacja_seksualna sexuell_läggning 性取向 性的指向
    """,
    "religion": """
        religion Religious church_attendance catholic denomination Konfession Glaube religión fede religião geloof wyznanie religiositet религия 宗教 信仰 ديانة דת
    """,
    "politics": """
        registered_voter voter_registration
        vote votes voted party partyid PartyID political_views ideology lrscale voteTrump Partei Wahlabsicht parti politique voto partido partito ideologia
        stemgedrag partij partia głosowanie röstat partisympati партия голосование 投票 政党 حزب מפלגה
    """,
    "crime": """
        arrests narr86 arrested conviction convicted recid recidivism prison_time felony priors offence victimised_crime jail Straftat Vorstrafen Haftstrafe
        arrestation condamnation délit delito arresto reato condanna crime prisão misdrijf gevangenisstraf przestępstwo wyrok brott fängelse преступление судимость 犯罪 逮捕
    """,
    "genetics": """
        genotype brca1 mutation blood_type dna Blutgruppe groupe_sanguin genotipo bloedgroep biometric_template 血型 遺伝子 генотип
    """,
    "outcome": """
        decision judgment Entscheidung Bescheid decisione besluit decyzja beslut 决定
    """,
    "union": """
        union union_member trade_union Gewerkschaft syndicat sindicato sindacato vakbond fackförening профсоюз 工会 労働組合 نقابة
    """,
    "achievement": """
        test_score TestScore math_score gpa colGPA hsGPA IQ iqscore SAT exam_grade course_grade evaluation performance_rating absences days_absent
        Note Abiturnote Prüfungsergebnis examen notas calificación voto_esame cijfers ocena betyg оценка 成绩 成績 درجات ציון
    """,
    "opinion": """
        attitude_immigrants satisfaction JobSatisfaction life_satisfaction happy trust_in_others neuroticism Einstellung Zufriedenheit opinion satisfacción
        soddisfazione satisfação tevredenheid zadowolenie 满意度 満足度 رضا
    """,
}

KNOWN = """
    age Age agegrp age_years sex gender female race ethnicity black hispanic nonwhite education educ schooling yrs_school marital_status married divorced children
    kids nchild household_size region state county city urban south occupation job industry tenure experience height birth_year year_of_birth zip country native language
    student grade degree momEd fatheduc siblings spouse widowed employed VictimRace DefendantRace patient_age donor_sex
    Alter Geschlecht Familienstand Kinder Kinderzahl Beruf Bundesland Wohnort Schulabschluss âge sexe état_civil enfants profession ville diplôme
    edad sexo estado_civil hijos ocupación ciudad età sesso stato_civile figli professione città idade filhos leeftijd geslacht kinderen beroep
    wiek płeć dzieci zawód miasto ålder kön barn yrke возраст пол дети город профессия 年龄 性别 职业 年齢 性別 職業 العمر الجنس גיל מין
"""

_FOUND = "hiv covid_result syphilis diabetes drug_abuse vote gonorrhea chlamydia Haushaltseinkommen test_result IQ"

FRIENDS = """
    page pages since party_size third_party european_union union_all union_set credit_hours learn parent current apparent position message average province college village
    image language passage mileage distance agent agency organization treatment_plant deadline keystrokes payload download taxi taxonomy syntax scoreboard
    upvotes release_date speed_limit archive hive discount county_population network trace grace place
    temperature voltage color price quantity station
"""


@pytest.mark.parametrize(
    ("meaning", "name"), [(meaning, name) for meaning, names in SENSITIVE.items() for name in names.split()]
)
def test_a_name_says_what_must_not_be_learned(meaning: str, name: str) -> None:
    kind = kind_of(name)
    assert kind is not None
    assert kind.meaning == meaning
    assert kind.words.startswith(meaning)


@pytest.mark.parametrize("name", KNOWN.split())
def test_what_everybody_sees_is_not_sensitive(name: str) -> None:
    kind = kind_of(name)
    assert kind is not None
    assert not kind.sensitive


@pytest.mark.parametrize("name", FRIENDS.split())
def test_a_word_that_only_looks_like_another_says_nothing_sensitive(name: str) -> None:
    kind = kind_of(name)
    assert kind is None or not kind.sensitive


def test_the_confidential_columns_that_were_published_as_known_are_sensitive() -> None:
    names = _FOUND.split()
    chance = random.Random(3)
    frame = pl.DataFrame(
        {"age": [20 + i % 40 for i in range(120)], "sex": ["f", "m", "f"] * 40}
        | {name: [chance.randrange(4) for _ in range(120)] for name in names}
    )
    found = {column.name: column for column in propose(frame).columns}
    assert {name: found[name].role for name in names} == dict.fromkeys(names, "sensitive")
    assert (found["age"].role, found["sex"].role) == ("quasi", "quasi")
    assert found["test_result"].reason == "health: a test result"
    assert found["Haushaltseinkommen"].reason == "money: income"
    assert found["sex"].reason.startswith("others may know it: sex")
