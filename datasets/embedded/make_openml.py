#!/usr/bin/env python3
"""Writes adult.arff.gz and cal_housing.arff.gz beside itself, from the package shapiq 1.4.1 (PyPI, MIT).

    pip download --no-deps shapiq==1.4.1 && datasets/embedded/make_openml.py shapiq-1.4.1-py3-none-any.whl

Rows, columns and levels are those of OpenML 1590 and 537. The package divides rooms, bedrooms and population of
California housing by households; the totals are whole numbers and come back exactly, which is checked row by row.
"""

import csv
import gzip
import io
import os
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))

ADULT = """\
age numeric
workclass {Private,Self-emp-not-inc,Self-emp-inc,Federal-gov,Local-gov,State-gov,Without-pay,Never-worked}
fnlwgt numeric
education {Bachelors,Some-college,11th,HS-grad,Prof-school,Assoc-acdm,Assoc-voc,9th,7th-8th,12th,Masters,1st-4th,10th,\
Doctorate,5th-6th,Preschool}
education-num numeric
marital-status {Married-civ-spouse,Divorced,Never-married,Separated,Widowed,Married-spouse-absent,Married-AF-spouse}
occupation {Tech-support,Craft-repair,Other-service,Sales,Exec-managerial,Prof-specialty,Handlers-cleaners,\
Machine-op-inspct,Adm-clerical,Farming-fishing,Transport-moving,Priv-house-serv,Protective-serv,Armed-Forces}
relationship {Wife,Own-child,Husband,Not-in-family,Other-relative,Unmarried}
race {White,Asian-Pac-Islander,Amer-Indian-Eskimo,Other,Black}
sex {Female,Male}
capital-gain numeric
capital-loss numeric
hours-per-week numeric
native-country {United-States,Cambodia,England,Puerto-Rico,Canada,Germany,Outlying-US(Guam-USVI-etc),India,Japan,\
Greece,South,China,Cuba,Iran,Honduras,Philippines,Italy,Poland,Jamaica,Vietnam,Mexico,Portugal,Ireland,France,\
Dominican-Republic,Laos,Ecuador,Taiwan,Haiti,Columbia,Hungary,Guatemala,Nicaragua,Scotland,Thailand,Yugoslavia,\
El-Salvador,Trinadad&Tobago,Peru,Hong,Holand-Netherlands}
class {>50K,<=50K}"""

HOUSING = """\
longitude numeric
latitude numeric
housing_median_age numeric
total_rooms numeric
total_bedrooms numeric
population numeric
households numeric
median_income numeric
median_house_value numeric"""


def whole(text):
    return text[:-2] if text.endswith(".0") else text


def housing(row):
    """A row of the package in totals per block group, as published."""
    income, age, rooms, bedrooms, population, occupancy, latitude, longitude, value = row
    households = round(float(population) / float(occupancy))
    totals = [round(float(mean) * households) for mean in (rooms, bedrooms)]
    for total, mean in zip([*totals, float(population)], (rooms, bedrooms, occupancy)):
        if abs(total / households - float(mean)) > 1e-14 * float(mean):
            sys.exit(f"no whole total in the row {row}")
    return [longitude, latitude, whole(age), *totals, whole(population), households, income, round(float(value) * 1e5)]


def write(name, header, rows):
    lines = [f"@relation {name}", *("@attribute " + line for line in header.splitlines()), "@data"]
    text = "\n".join(lines + [",".join(map(str, row)) for row in rows]) + "\n"
    try:
        from zopfli.gzip import compress  # a tenth smaller
    except ImportError:
        def compress(data):
            return gzip.compress(data, 9, mtime=0)
    with open(os.path.join(HERE, name + ".arff.gz"), "wb") as out:
        out.write(compress(text.encode()))


def main():
    package = zipfile.ZipFile(sys.argv[1])

    def rows(name):
        with package.open(f"shapiq/datasets/data/{name}.csv") as table:
            return list(csv.reader(io.TextIOWrapper(table, "utf-8")))[1:]

    write("adult", ADULT, [[whole(value) or "?" for value in row] for row in rows("adult_census")])
    write("cal_housing", HOUSING, [housing(row) for row in rows("california_housing")])


if __name__ == "__main__":
    main()
