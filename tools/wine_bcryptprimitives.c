/* The one function of bcryptprimitives.dll that Rust's standard library imports, for a Wine that lacks the file
 * (before 8.13; Debian 12 has 8.0). It seeds hash maps, as the real one does. Only tools/compare-under-wine uses it:
 * Windows 10, the oldest that Rust builds for, brings its own. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)
{
    while (length > 0) {
        ULONG part = length > 0x10000000 ? 0x10000000 : (ULONG)length;
        if (!RtlGenRandom(data, part))
            return FALSE;
        data += part;
        length -= part;
    }
    return TRUE;
}
