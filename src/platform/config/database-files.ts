import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

/** What an address names for TLS. The driver reads each for every connection, and tells of none whose it is. */
const FILES = {
  sslrootcert: {
    means: 'the certificates of the authorities that are trusted',
    holds: 'certificate',
    read: (text: string) => new X509Certificate(text),
  },
  sslcert: { means: 'the certificate that the service shows', holds: 'certificate', read: (text: string) => new X509Certificate(text) },
  sslkey: { means: 'the key of `sslcert`', holds: 'private key that needs no passphrase', read: (text: string) => createPrivateKey(text) },
} as const;
const REASONS: Readonly<Record<string, string>> = { ENOENT: 'does not exist', EACCES: 'may not be read', EISDIR: 'is a directory' };

/** What is wrong with the files that an address names; undefined when nothing is. */
export function faultOfFiles(asked: URLSearchParams): string | undefined {
  for (const [name, { means, holds, read }] of Object.entries(FILES)) {
    // Of several the driver takes the last.
    const file = asked.getAll(name).at(-1);
    if (!file) continue;
    const fault = faultOfFile(file, holds, read);
    if (fault !== undefined) return `has ${name}=${file}, which ${fault}: it has to be a PEM file of ${means}`;
  }
  return undefined;
}

function faultOfFile(file: string, holds: string, read: (text: string) => unknown): string | undefined {
  let text: string;
  try {
    // What is a pipe would be waited for.
    const found = statSync(file);
    if (!found.isFile() && !found.isDirectory()) return 'is no file';
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    return REASONS[code] ?? `cannot be read (${message})`;
  }
  try {
    read(text);
    return undefined;
  } catch {
    return `holds no ${holds}`;
  }
}
