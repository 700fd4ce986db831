#pragma once
//! @file
//! Logarithm, exponential and normal variates from IEEE-exact operations only (+ - * / sqrt), so
//! that generated data are the same bits under every compiler and C library. Needs
//! -ffp-contract=off, which the build sets.

namespace retable::datasets {

//! Natural logarithm of a positive finite double; relative error below 4e-16 (tested).
double PortableLog(double x);

//! e^x; 0 below -745, infinity above 709.78; relative error below 4e-16 (tested).
double PortableExp(double x);

}  // namespace retable::datasets
