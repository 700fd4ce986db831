#pragma once
//! @file
//! What may be made of an address that somebody else wrote, and what may be said of one that the
//! user gave.

#include <string>
#include <string_view>

namespace retable::datasets {

//! The path of an url, without query, made safe to be a relative path in a cache and on a mirror:
//! no "..", no control characters, neither plain nor percent-encoded, and nothing below "api/",
//! where the descriptions are. Empty when there is no such path.
std::string SafePath(const std::string& url);

//! "%41" as "A", as a server or a file system comes to see it.
std::string PercentDecoded(std::string_view text);

//! The url as messages, records and tables may show it: without user, password, query and fragment,
//! any of which may be a secret.
std::string ShownUrl(const std::string& url);

}  // namespace retable::datasets
