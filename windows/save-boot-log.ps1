<#
.SYNOPSIS
Copies the log that Windows keeps of its last boot or shutdown to a folder where onoff can read it.

.DESCRIPTION
Windows logs every boot into %SystemRoot%\System32\WDI\LogFiles: BootPerfDiagLogger.etl since Windows 10 1903,
BootCKCL.etl before. The folder is hidden and readable by administrators only, and the file may still be in use for some
minutes after logon. The script changes nothing on the computer.

.EXAMPLE
.\save-boot-log.ps1 -To C:\traces

.EXAMPLE
.\save-boot-log.ps1 -Shutdown -To C:\traces
#>
[CmdletBinding()]
param(
    # Destination folder; created if it does not exist.
    [Parameter()][string]$To = '.',
    # Copy the log of the last shutdown instead of the last boot.
    [Parameter()][switch]$Shutdown,
    # Minutes to wait for a file that is in use.
    [Parameter()][ValidateRange(0, 60)][int]$Minutes = 10
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$principal = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $principal.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    throw 'Run this in PowerShell as administrator: only administrators can read the folder.'
}

$folder = Join-Path $env:SystemRoot 'System32\WDI\LogFiles'
$names = if ($Shutdown) { 'ShutdownPerfDiagLogger.etl', 'ShutdownCKCL.etl' } else { 'BootPerfDiagLogger.etl', 'BootCKCL.etl' }
$found = $names | ForEach-Object { Join-Path $folder $_ } | Where-Object { Test-Path -LiteralPath $_ } |
    Get-Item -Force | Sort-Object LastWriteTime -Descending | Select-Object -First 1
if (-not $found) {
    throw "$folder has none of $($names -join ', '): this version of Windows does not log its boots, or has not logged one yet."
}

New-Item -ItemType Directory -Force -Path $To | Out-Null
$target = Join-Path $To ('{0}-{1:yyyyMMdd-HHmmss}.etl' -f $found.BaseName, $found.LastWriteTime)
if (Test-Path -LiteralPath $target) {
    throw "$target already exists."
}
$until = (Get-Date).AddMinutes($Minutes)
while ($true) {
    try {
        # Windows may still be writing: copies what is complete so far.
        $source = [IO.File]::Open($found.FullName, 'Open', 'Read', 'ReadWrite, Delete')
        break
    } catch [IO.IOException] {
        if ((Get-Date) -ge $until) { throw }
        Write-Host "$($found.Name) is in use; trying again in 15 s."
        Start-Sleep -Seconds 15
    }
}
try {
    $copy = [IO.File]::Open($target, 'CreateNew', 'Write', 'None')
    try { $source.CopyTo($copy) } finally { $copy.Dispose() }
} finally {
    $source.Dispose()
}
Write-Host "Copied $($found.FullName) of $($found.LastWriteTime) to $target"
