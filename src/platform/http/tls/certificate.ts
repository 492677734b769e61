import type { Server } from 'node:https';
import type { AppConfig, TlsFiles } from '../../config/config.js';
import type { Lifecycle } from '../../health/lifecycle.js';
import type { Metrics } from '../../health/metrics.js';
import { repeat } from '../../health/repeat.js';
import type { AppLogger } from '../../logging/logger.js';
import { namesHost, pairOf, PairError, readText, type Pair } from './pair.js';

/** Below what a client or Node's default may be moved by flags. */
export const SECURE = { minVersion: 'TLSv1.2' } as const;
/**
 * The files are read, not watched: they are small, and what is watched is missed on network file systems and behind links
 * that are swapped as a whole.
 */
const LOOK_MS = 1_000;
const DAY_MS = 86_400_000;
/** Days before its end at which a certificate that nobody has renewed is spoken of. */
const REMINDERS = [14, 3, 0];

/**
 * The certificate of a server that goes on while its files change. Who is connected stays on the one that he was shown; new
 * connections get the new one. What cannot be used changes nothing.
 */
export class Certificate {
  #pair: Pair;
  /** What was last looked at and not taken. */
  #refused: { readonly texts: string; told: boolean } | undefined;
  #reminded = Infinity;

  constructor(
    private readonly files: TlsFiles,
    pair: Pair,
    private readonly log: AppLogger,
    private readonly now: () => number = Date.now,
  ) {
    this.#pair = pair;
  }

  /** The end of the certificate that is served, in milliseconds since 1970. */
  get expires(): number {
    return this.#pair.leaf.validToDate.getTime();
  }

  /** What the operator should know at the start. An expired certificate is no reason to stay down, see SECURITY.md. */
  announce(config: AppConfig): void {
    this.log.info(this.#facts(), 'HTTPS is served');
    this.remind();
    // Elsewhere `SVC_API_URL` says what agents call, and the name of a load balancer is not ours to judge.
    const host = config.ownHost;
    if ((config.role === 'all' || config.processName !== undefined) && config.apiUrl === undefined && !namesHost(this.#pair.leaf, host))
      this.log.warn(
        { names: this.#pair.leaf.subjectAltName },
        `the certificate does not name ${host}: agents and svc of this machine refuse it; set SVC_API_URL to an address that it names`,
      );
  }

  /** Says once for each step of `REMINDERS` that the end comes near. */
  remind(): void {
    const days = (this.expires - this.now()) / DAY_MS;
    const step = REMINDERS.findLast((limit) => days <= limit) ?? Infinity;
    if (step < this.#reminded) {
      if (step === 0)
        this.log.error(this.#facts(), 'the TLS certificate HAS EXPIRED: clients refuse it; replace the files, they are read again');
      else this.log.warn(this.#facts(), `the TLS certificate expires within ${step} days`);
    }
    this.#reminded = step;
  }

  /**
   * Takes what the files hold now. A pair that is refused is told of when it has stayed the same for two looks: between
   * the two files of a renewal lies a moment in which they do not belong together.
   *
   * @returns whether there is a new one
   */
  async look(take: (pair: Pair) => void): Promise<boolean> {
    let texts = '';
    try {
      const [cert, key] = await Promise.all([readText('SVC_TLS_CERT', this.files.cert), readText('SVC_TLS_KEY', this.files.key)]);
      if (cert === this.#pair.cert && key === this.#pair.key) {
        this.#refused = undefined;
        return false;
      }
      texts = `${cert}\0${key}`;
      const pair = pairOf(this.files, cert, key);
      const now = this.now();
      if (pair.leaf.validToDate.getTime() <= now && this.expires > now)
        throw new PairError(`SVC_TLS_CERT: the certificate in ${this.files.cert} has expired, the one that is served has not`);
      take(pair);
      this.#pair = pair;
      this.#refused = undefined;
      this.#reminded = Infinity;
      this.log.info(this.#facts(), 'new connections get the new TLS certificate');
      this.remind();
      return true;
    } catch (error) {
      if (!(error instanceof PairError)) throw error;
      const again = this.#refused?.texts === texts;
      if (again && !this.#refused!.told) this.log.warn(this.#facts(), `the TLS certificate stays the one that it was: ${error.message}`);
      this.#refused = { texts, told: again };
      return false;
    }
  }

  #facts(): Record<string, unknown> {
    const { subjectAltName, subject, fingerprint256, validTo } = this.#pair.leaf;
    return { names: subjectAltName ?? subject, until: validTo, fingerprint: fingerprint256 };
  }
}

interface Rooms {
  readonly metrics: Metrics | undefined;
  readonly lifecycle: Lifecycle | undefined;
  readonly log: AppLogger;
}

/** Keeps a server's certificate what its files say, until the process stops. */
export function keepCertificate(server: Server, certificate: Certificate, { metrics, lifecycle, log }: Rooms): void {
  const expires = metrics?.gauge({
    name: 'svc_tls_certificate_expiry_timestamp_seconds',
    help: 'When the TLS certificate that is served expires.',
  });
  const tell = (): void => expires?.set(Math.floor(certificate.expires / 1_000));
  tell();
  if (lifecycle === undefined) return;
  repeat(lifecycle, log, {
    name: 'TLS certificate',
    everyMs: LOOK_MS,
    phase: 'background',
    work: async () => {
      if (await certificate.look(({ cert, key }) => server.setSecureContext({ ...SECURE, cert, key }))) tell();
      else certificate.remind();
    },
  });
}
