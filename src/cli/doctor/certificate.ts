import { isIP } from 'node:net';
import tls from 'node:tls';
import { showDuration } from '../duration.js';
import { reason } from '../../client/problems.js';
import { distrust } from '../trust.js';
import type { Target } from '../target.js';
import { failed, ok, warning, type Found } from './finding.js';

const LIMIT_MS = 10_000;
const SOON_MS = 14 * 24 * 3_600_000;

/** The certificate that a server of HTTPS shows, verified as every command verifies it. */
export async function certificate(target: Target, now: number): Promise<Found> {
  try {
    const { subject, until } = await shownBy(new URL(target.url));
    const left = until - now;
    const ends = `${subject} is trusted and ends ${new Date(until).toISOString().slice(0, 10)}`;
    if (left < SOON_MS)
      return warning(
        'certificate',
        `${ends}, in ${showDuration(left)}: clients refuse it from then on`,
        'cp new.crt "$SVC_TLS_CERT" && cp new.key "$SVC_TLS_KEY"',
      );
    return ok('certificate', ends);
  } catch (error) {
    return failed('certificate', distrust(target.url, { cause: error }) ?? `no certificate can be read (${reason(error)})`);
  }
}

function shownBy({ hostname, port }: URL): Promise<{ subject: string; until: number }> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host, port: Number(port || 443), ...(isIP(host) === 0 ? { servername: host } : {}) });
    socket.setTimeout(LIMIT_MS, () => socket.destroy(new Error(`no answer within ${LIMIT_MS / 1_000} s`)));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const { subject, valid_to: until } = socket.getPeerCertificate();
      socket.destroy();
      const name: unknown = subject?.CN;
      resolve({ subject: typeof name === 'string' ? name : host, until: Date.parse(until) });
    });
  });
}
