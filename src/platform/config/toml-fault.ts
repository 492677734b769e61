import type { TomlError } from 'smol-toml';

/** Where in its line a text is no TOML, and why, in the parser's words without the lines that it quotes: they may hold secrets. */
export function tomlFault(error: TomlError): string {
  return `column ${error.column}: ${/^Invalid TOML document: ([^\n]*)/.exec(error.message)?.[1] ?? 'is not TOML'}`;
}
