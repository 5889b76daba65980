"""Public domains: publicly known code lists, with their official groups.

A column whose values all belong to one of them needs no declared domain, and its domain does not reveal which values
occur: the states of the USA, the countries of ISO 3166, chapters of ICD-10, sections of NACE, groups of ISCO, regions
of NUTS, ZIP codes. If there are too many codes to list, the codes that occur are leaves below public groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

GroupPath = tuple[str, ...]

# Divisions and regions of the Census Bureau; each state as postal code, FIPS code and name.
_STATES = {
    "Northeast": {
        "New England": "CT 09 Connecticut|ME 23 Maine|MA 25 Massachusetts|NH 33 New Hampshire|RI 44 Rhode Island|VT 50 Vermont",
        "Middle Atlantic": "NJ 34 New Jersey|NY 36 New York|PA 42 Pennsylvania",
    },
    "Midwest": {
        "East North Central": "IL 17 Illinois|IN 18 Indiana|MI 26 Michigan|OH 39 Ohio|WI 55 Wisconsin",
        "West North Central": "IA 19 Iowa|KS 20 Kansas|MN 27 Minnesota|MO 29 Missouri|NE 31 Nebraska|ND 38 North Dakota|SD 46 South Dakota",
    },
    "South": {
        "South Atlantic": "DE 10 Delaware|DC 11 District of Columbia|FL 12 Florida|GA 13 Georgia|MD 24 Maryland|NC 37 North Carolina|SC 45 South Carolina"
        "|VA 51 Virginia|WV 54 West Virginia",
        "East South Central": "AL 01 Alabama|KY 21 Kentucky|MS 28 Mississippi|TN 47 Tennessee",
        "West South Central": "AR 05 Arkansas|LA 22 Louisiana|OK 40 Oklahoma|TX 48 Texas",
    },
    "West": {
        "Mountain": "AZ 04 Arizona|CO 08 Colorado|ID 16 Idaho|MT 30 Montana|NV 32 Nevada|NM 35 New Mexico|UT 49 Utah|WY 56 Wyoming",
        "Pacific": "AK 02 Alaska|CA 06 California|HI 15 Hawaii|OR 41 Oregon|WA 53 Washington",
    },
}
# Regions and subregions of the United Nations (M49), countries as ISO 3166 alpha-2 and alpha-3 codes.
_COUNTRIES = {
    "Africa": {
        "Northern Africa": "DZ DZA|EG EGY|LY LBY|MA MAR|SD SDN|TN TUN|EH ESH",
        "Eastern Africa": "BI BDI|KM COM|DJ DJI|ER ERI|ET ETH|KE KEN|MG MDG|MW MWI|MU MUS|YT MYT|MZ MOZ|RE REU|RW RWA|SC SYC|SO SOM|SS SSD|UG UGA|TZ TZA|ZM ZMB"
        "|ZW ZWE|IO IOT|TF ATF",
        "Middle Africa": "AO AGO|CM CMR|CF CAF|TD TCD|CG COG|CD COD|GQ GNQ|GA GAB|ST STP",
        "Southern Africa": "BW BWA|SZ SWZ|LS LSO|NA NAM|ZA ZAF",
        "Western Africa": "BJ BEN|BF BFA|CV CPV|CI CIV|GM GMB|GH GHA|GN GIN|GW GNB|LR LBR|ML MLI|MR MRT|NE NER|NG NGA|SH SHN|SN SEN|SL SLE|TG TGO",
    },
    "Americas": {
        "Caribbean": "AI AIA|AG ATG|AW ABW|BS BHS|BB BRB|BQ BES|VG VGB|KY CYM|CU CUB|CW CUW|DM DMA|DO DOM|GD GRD|GP GLP|HT HTI|JM JAM|MQ MTQ|MS MSR|PR PRI|BL BLM"
        "|KN KNA|LC LCA|MF MAF|VC VCT|SX SXM|TT TTO|TC TCA|VI VIR",
        "Central America": "BZ BLZ|CR CRI|SV SLV|GT GTM|HN HND|MX MEX|NI NIC|PA PAN",
        "South America": "AR ARG|BO BOL|BV BVT|BR BRA|CL CHL|CO COL|EC ECU|FK FLK|GF GUF|GY GUY|PY PRY|PE PER|GS SGS|SR SUR|UY URY|VE VEN",
        "Northern America": "BM BMU|CA CAN|GL GRL|PM SPM|US USA",
    },
    "Asia": {
        "Central Asia": "KZ KAZ|KG KGZ|TJ TJK|TM TKM|UZ UZB",
        "Eastern Asia": "CN CHN|HK HKG|MO MAC|KP PRK|JP JPN|MN MNG|KR KOR|TW TWN",
        "South-eastern Asia": "BN BRN|KH KHM|ID IDN|LA LAO|MY MYS|MM MMR|PH PHL|SG SGP|TH THA|TL TLS|VN VNM",
        "Southern Asia": "AF AFG|BD BGD|BT BTN|IN IND|IR IRN|MV MDV|NP NPL|PK PAK|LK LKA",
        "Western Asia": "AM ARM|AZ AZE|BH BHR|CY CYP|GE GEO|IQ IRQ|IL ISR|JO JOR|KW KWT|LB LBN|OM OMN|QA QAT|SA SAU|PS PSE|SY SYR|TR TUR|AE ARE|YE YEM",
    },
    "Europe": {
        "Eastern Europe": "BY BLR|BG BGR|CZ CZE|HU HUN|PL POL|MD MDA|RO ROU|RU RUS|SK SVK|UA UKR",
        "Northern Europe": "AX ALA|DK DNK|EE EST|FO FRO|FI FIN|GG GGY|IS ISL|IE IRL|IM IMN|JE JEY|LV LVA|LT LTU|NO NOR|SJ SJM|SE SWE|GB GBR",
        "Southern Europe": "AL ALB|AD AND|BA BIH|HR HRV|GI GIB|GR GRC|VA VAT|IT ITA|MT MLT|ME MNE|MK MKD|PT PRT|SM SMR|RS SRB|SI SVN|ES ESP",
        "Western Europe": "AT AUT|BE BEL|FR FRA|DE DEU|LI LIE|LU LUX|MC MCO|NL NLD|CH CHE",
    },
    "Oceania": {
        "Australia and New Zealand": "AU AUS|CX CXR|CC CCK|HM HMD|NZ NZL|NF NFK",
        "Melanesia": "FJ FJI|NC NCL|PG PNG|SB SLB|VU VUT",
        "Micronesia": "GU GUM|KI KIR|MH MHL|FM FSM|NR NRU|MP MNP|PW PLW|UM UMI",
        "Polynesia": "AS ASM|CK COK|PF PYF|NU NIU|PN PCN|WS WSM|TK TKL|TO TON|TV TUV|WF WLF",
    },
    "Antarctica": {"Antarctica": "AQ ATA"},
}
# The first and the last three-character category of every chapter of ICD-10.
_ICD = (
    ("A00", "B99", "I Infectious and parasitic diseases"),
    ("C00", "D48", "II Neoplasms"),
    ("D50", "D89", "III Blood and immune mechanism"),
    ("E00", "E90", "IV Endocrine, nutritional and metabolic"),
    ("F00", "F99", "V Mental and behavioural"),
    ("G00", "G99", "VI Nervous system"),
    ("H00", "H59", "VII Eye and adnexa"),
    ("H60", "H95", "VIII Ear and mastoid process"),
    ("I00", "I99", "IX Circulatory system"),
    ("J00", "J99", "X Respiratory system"),
    ("K00", "K93", "XI Digestive system"),
    ("L00", "L99", "XII Skin and subcutaneous tissue"),
    ("M00", "M99", "XIII Musculoskeletal system"),
    ("N00", "N99", "XIV Genitourinary system"),
    ("O00", "O99", "XV Pregnancy and childbirth"),
    ("P00", "P96", "XVI Perinatal period"),
    ("Q00", "Q99", "XVII Congenital malformations"),
    ("R00", "R99", "XVIII Symptoms and findings"),
    ("S00", "T98", "XIX Injury and poisoning"),
    ("U00", "U99", "XXII Special purposes"),
    ("V00", "Y99", "XX External causes"),
    ("Z00", "Z99", "XXI Health status and services"),
)
# Sections of NACE Rev. 2 by their first and last division.
_NACE = (
    (1, 3, "A Agriculture, forestry, fishing"),
    (5, 9, "B Mining"),
    (10, 33, "C Manufacturing"),
    (35, 35, "D Energy"),
    (36, 39, "E Water and waste"),
    (41, 43, "F Construction"),
    (45, 47, "G Trade"),
    (49, 53, "H Transport"),
    (55, 56, "I Accommodation and food"),
    (58, 63, "J Information"),
    (64, 66, "K Finance and insurance"),
    (68, 68, "L Real estate"),
    (69, 75, "M Professional services"),
    (77, 82, "N Administrative services"),
    (84, 84, "O Public administration"),
    (85, 85, "P Education"),
    (86, 88, "Q Health and social work"),
    (90, 93, "R Arts and recreation"),
    (94, 96, "S Other services"),
    (97, 98, "T Households"),
    (99, 99, "U Extraterritorial"),
)

# Major and sub-major groups of ISCO-08, by their first two digits.
_ISCO = {
    "1 Managers": "11 Chief executives and legislators|12 Administrative and commercial managers|13 Production and services managers"
    "|14 Hospitality, retail and other managers",
    "2 Professionals": "21 Science and engineering|22 Health|23 Teaching|24 Business and administration|25 Information and communications|26 Legal, social, cultural",
    "3 Technicians and associates": "31 Science and engineering associates|32 Health associates|33 Business associates|34 Legal, social, cultural associates"
    "|35 Information technicians",
    "4 Clerks": "41 General clerks|42 Customer services clerks|43 Numerical and material clerks|44 Other clerks",
    "5 Services and sales": "51 Personal services|52 Sales|53 Personal care|54 Protective services",
    "6 Skilled agriculture": "61 Market-oriented agriculture|62 Market-oriented forestry and fishery|63 Subsistence farmers",
    "7 Craft and trades": "71 Building|72 Metal and machinery|73 Handicraft and printing|74 Electrical and electronic|75 Food, wood, garment",
    "8 Operators and assemblers": "81 Stationary plant operators|82 Assemblers|83 Drivers and mobile plant operators",
    "9 Elementary": "91 Cleaners and helpers|92 Agricultural labourers|93 Mining, construction, transport labourers|94 Food preparation assistants"
    "|95 Street services|96 Refuse and other elementary",
    "0 Armed forces": "01 Commissioned officers|02 Non-commissioned officers|03 Other ranks",
}
# States of the three-digit ZIP areas, by the first and last of a range; territories and military mail have their own
# names.
_ZIP = (
    "005 005 NY|006 007 PR|008 008 VI|009 009 PR|010 027 MA|028 029 RI|030 038 NH|039 049 ME|050 054 VT|055 055 MA|056 059 VT|060 069 CT|070 089 NJ"
    "|090 098 Military|100 149 NY|150 196 PA|197 199 DE|200 200 DC|201 201 VA|202 205 DC|206 219 MD|220 246 VA|247 268 WV|270 289 NC|290 299 SC|300 319 GA"
    "|320 339 FL|340 340 Military|341 349 FL|350 369 AL|370 385 TN|386 397 MS|398 399 GA|400 427 KY|430 459 OH|460 479 IN|480 499 MI|500 528 IA|530 549 WI"
    "|550 567 MN|569 569 DC|570 577 SD|580 588 ND|590 599 MT|600 629 IL|630 658 MO|660 679 KS|680 693 NE|700 714 LA|716 729 AR|730 732 OK|733 733 TX"
    "|734 749 OK|750 799 TX|800 816 CO|820 831 WY|832 838 ID|840 847 UT|850 865 AZ|870 884 NM|885 885 TX|889 898 NV|900 961 CA|962 966 Military|967 968 HI"
    "|969 969 GU|970 979 OR|980 994 WA|995 999 AK"
)
# Countries with NUTS regions: members of the European Union, candidates and EFTA.
_NUTS = "AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK UK AL CH IS LI ME MK NO RS TR BA UA MD GE XK"


@cache
def public_paths(name: str) -> tuple[GroupPath, ...]:
    """Every value of a domain with its groups, nearest first."""
    if name.startswith("us-states"):
        field_index = ("us-states", "us-states-fips", "us-states-names").index(name)
        return _listed(_STATES, lambda item: item.split(" ", 2)[field_index])
    if name.startswith("iso-3166"):
        field_index = ("iso-3166-2", "iso-3166-3").index(name)
        return _listed(_COUNTRIES, lambda item: item.split(" ")[field_index])
    if name == "icd-10":
        return tuple((code, chapter) for first, last, chapter in _ICD for code in _categories(first, last))
    if name == "isco-08":
        return tuple((group[:2], major) for major, groups in _ISCO.items() for group in groups.split("|"))
    if name == "us-zip":
        return tuple((f"{area:03d}", *above) for area, above in _zip_areas().items())
    if name == "nuts":
        return tuple((country,) for country in _NUTS.split())
    return tuple((f"{number:02d}", section) for first, last, section in _NACE for number in range(first, last + 1))


@dataclass(frozen=True)
class LongerCodes:
    """How codes longer than the listed ones map to them: their ``pattern``, and the number of characters of a code at each group level."""

    pattern: str
    lengths: tuple[int, ...]
    listed: int
    starred: bool = False

    def path(self, code: str, paths: Mapping[str, GroupPath]) -> GroupPath | None:
        """A code with its groups, nearest first; None if it is not in the domain."""
        code_without_dots = code.replace(".", "")
        groups = paths.get(code_without_dots[: self.listed])
        if groups is None or not re.fullmatch(self.pattern, code):
            return None
        longer = [length for length in self.lengths if self.listed <= length < len(code_without_dots)]
        stars = [
            code_without_dots[:length] + ("*" * (len(code_without_dots) - length) if self.starred else "")
            for length in longer
        ]
        return (code, *stars, *groups)


LONGER: Mapping[str, LongerCodes] = {
    "icd-10": LongerCodes(r"[A-Z]\d\d\.?\w{0,4}", (3,), 3),
    "nace": LongerCodes(r"\d\d(\.?\d{1,2})?", (3, 2), 2),
    "isco-08": LongerCodes(r"\d{2,4}", (3, 2), 2),
    "us-zip": LongerCodes(r"\d{5}", (3,), 3, starred=True),
    "nuts": LongerCodes(r"[A-Z]{2}[0-9A-Z]{0,3}", (4, 3, 2), 2),
}
"""Domains whose codes may be longer than the listed ones."""


@cache
def public_groups(name: str) -> Mapping[str, GroupPath]:
    """The groups above every listed code."""
    return {path[0]: path[1:] for path in public_paths(name)}


def _zip_areas() -> dict[int, GroupPath]:
    """Return the state, division and region of every three-digit ZIP area."""
    divisions = {
        item[:2]: (division, region)
        for region, groups in _STATES.items()
        for division, items in groups.items()
        for item in items.split("|")
    }
    paths: dict[int, GroupPath] = {}
    for range_text in _ZIP.split("|"):
        first, last, state = range_text.split(" ")
        groups = divisions.get(state, ("Territories and military",) * 2)
        paths.update(dict.fromkeys(range(int(first), int(last) + 1), (state, *groups)))
    return paths


NAMES: Mapping[str, str] = {
    "us-states": "states of the USA by postal code, in divisions and regions",
    "us-states-fips": "states of the USA by FIPS code, in divisions and regions",
    "us-states-names": "states of the USA by name, in divisions and regions",
    "iso-3166-2": "countries by ISO 3166 alpha-2 code, in subregions and regions",
    "iso-3166-3": "countries by ISO 3166 alpha-3 code, in subregions and regions",
    "icd-10": "categories of ICD-10, in chapters; longer codes under them",
    "nace": "divisions of NACE Rev. 2, in sections; longer codes under them",
    "isco-08": "occupations of ISCO-08 by two to four digits, in sub-major and major groups",
    "us-zip": "ZIP codes of the USA, in areas of three digits, states, divisions and regions",
    "nuts": "regions of NUTS by two to five characters, up to countries",
}


def _listed(tree: Mapping[str, Mapping[str, str]], spelled: Callable[[str], str]) -> tuple[GroupPath, ...]:
    """Return the paths of a public classification: item, group and region."""
    return tuple(
        (spelled(item), group, region)
        for region, groups in tree.items()
        for group, items in groups.items()
        for item in items.split("|")
    )


def _categories(first: str, last: str) -> Iterator[str]:
    """Yield the three-character ICD codes from ``first`` to ``last``, such as A00 to B99."""
    for letter in map(chr, range(ord(first[0]), ord(last[0]) + 1)):
        low = int(first[1:]) if letter == first[0] else 0
        high = int(last[1:]) if letter == last[0] else 99
        yield from (f"{letter}{number:02d}" for number in range(low, high + 1))
