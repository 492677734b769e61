import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENCODINGS, type Encoding } from '../http/encodings.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
};
const SUFFIX: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };

export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly encoded: Partial<Readonly<Record<Encoding, Buffer>>>;
}

/** Where `npm run build` has put the page; built, this file lies beside it. */
function builtPage(): string | undefined {
  const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  return [here('../../../ui'), here('../../../dist/ui')].find((dir) => existsSync(join(dir, 'assets')));
}

/** The files of the page by their path below `/ui/`: a few hundred kilobytes, kept in memory, so that no path of a request reaches a disk. */
export function readPage(dir = builtPage()): ReadonlyMap<string, PageFile> | undefined {
  if (dir === undefined) return undefined;
  const files = new Map<string, PageFile>();
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const plain = readFileSync(path);
    const encoded: { -readonly [E in Encoding]?: Buffer } = {};
    for (const encoding of ENCODINGS) {
      const file = `${path}${SUFFIX[encoding]}`;
      if (existsSync(file)) encoded[encoding] = readFileSync(file);
    }
    const etag = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
    files.set(relative(dir, path).split(sep).join('/'), { type, etag, plain, encoded });
  }
  return files;
}
