import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const openssl = (...args: string[]): Promise<unknown> => promisify(execFile)('openssl', args);
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export interface PairFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority that nobody knows, made by the machine's openssl, and what it signs. */
export class Authority {
  #issued = 0;

  private constructor(
    private readonly dir: string,
    /** The PEM file that clients have to trust. */
    readonly file: string,
  ) {}

  static async in(dir: string): Promise<Authority> {
    const [key, file] = [join(dir, 'ca.key'), join(dir, 'ca.pem')];
    await openssl('req', '-x509', ...KEY, '-keyout', key, '-out', file, '-days', '2', '-subj', '/CN=tests');
    return new Authority(dir, file);
  }

  pem(): Promise<string> {
    return readFile(this.file, 'utf8');
  }

  /** A pair in a folder of its own: `tls.crt` and `tls.key`. @param names as in `IP:127.0.0.1,DNS:localhost` */
  async issue(names = 'IP:127.0.0.1,DNS:localhost'): Promise<PairFiles & { readonly dir: string }> {
    const dir = join(this.dir, `pair-${++this.#issued}`);
    await mkdir(dir);
    const [key, cert, request, extensions] = ['tls.key', 'tls.crt', 'request.pem', 'extensions'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
      string,
    ];
    await writeFile(extensions, `subjectAltName=${names}\n`);
    await openssl('req', ...KEY, '-keyout', key, '-out', request, '-subj', `/CN=server ${this.#issued}`);
    const ca = ['-CA', this.file, '-CAkey', join(this.dir, 'ca.key'), '-CAcreateserial', '-CAserial', join(dir, 'serial')];
    await openssl('x509', '-req', '-in', request, ...ca, '-out', cert, '-days', '2', '-extfile', extensions);
    return { dir, cert, key };
  }
}

/** A folder of links as Kubernetes mounts a secret: what `..data` leads to is swapped as a whole. */
export async function mountedPair(at: string, first: string): Promise<PairFiles & { swap(to: string): Promise<void> }> {
  await mkdir(at);
  const data = join(at, '..data');
  const files = { cert: join(at, 'tls.crt'), key: join(at, 'tls.key') };
  await symlink(first, data);
  await symlink('..data/tls.crt', files.cert);
  await symlink('..data/tls.key', files.key);
  return {
    ...files,
    swap: async (to) => {
      await symlink(to, `${data}.new`);
      await rename(`${data}.new`, data);
    },
  };
}
