/* The only function of bcryptprimitives.dll that Rust's standard library imports, for versions of Wine without the file
 * (before 8.13; Debian 12 has 8.0). Like the real function, it seeds hash maps. Only the scripts that use Wine need it:
 * Windows 10, the oldest version that Rust supports, has the file. */
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
