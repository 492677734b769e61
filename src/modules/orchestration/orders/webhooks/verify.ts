import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { Verification } from './webhook-definition.js';

/** What has been sent, as it came. */
export interface Sent {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly address: string;
}

/** Signatures in one header that are looked at: a sender that changes its secret sends two. */
const MOST_SIGNATURES = 8;
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Whether this was sent by who shares the secrets with us, and lately. What does not match takes as long as what does. */
export function isVerified(how: Verification, sent: Sent, secrets: readonly string[], now: Date): boolean {
  if (how.scheme === 'none') return true;
  if (how.scheme === 'bearer') return showsToken(how, sent, secrets);
  const given = headerOf(sent, how.signatureHeader);
  if (given === undefined) return false;
  const stamp = how.timestampHeader === undefined ? undefined : headerOf(sent, how.timestampHeader);
  if (how.timestampHeader !== undefined && (stamp === undefined || !isRecent(stamp, how.windowMs, now))) return false;
  const signatures = given
    .split(/[,\s]+/)
    .slice(0, MOST_SIGNATURES)
    .flatMap(digestIn);
  let good = false;
  for (const secret of secrets) {
    const hmac = createHmac('sha256', secret);
    if (stamp !== undefined) hmac.update(`${stamp}.`);
    const wanted = hmac.update(sent.body).digest();
    for (const signature of signatures) good = timingSafeEqual(signature, wanted) || good;
  }
  return good;
}

/** Whether it comes from where it may come from. */
export function isFromNetworks(networks: readonly string[], address: string): boolean {
  if (networks.length === 0) return true;
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/, '');
  const list = new BlockList();
  for (const network of networks) {
    const [base = '', bits] = network.split('/');
    const kind = isIP(base) === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(base, bits === undefined ? (kind === 'ipv6' ? 128 : 32) : Number(bits), kind);
  }
  return isIP(plain) !== 0 && list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
}

export function headerOf({ headers }: Pick<Sent, 'headers'>, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : headers[name];
  const text = (Array.isArray(value) ? value.join(', ') : value)?.trim();
  return text === undefined || text === '' ? undefined : text;
}

/** Hashes are compared: they are of one length, whatever was shown. */
function showsToken(how: Verification, sent: Sent, secrets: readonly string[]): boolean {
  const own = how.signatureHeader;
  const shown = own === undefined ? /^bearer +(\S+)$/i.exec(headerOf(sent, 'authorization') ?? '')?.[1] : headerOf(sent, own);
  if (shown === undefined) return false;
  const digest = hash('sha256', shown, 'buffer');
  let good = false;
  for (const secret of secrets) good = timingSafeEqual(digest, hash('sha256', secret, 'buffer')) || good;
  return good;
}

function isRecent(stamp: string, windowMs: number, now: Date): boolean {
  return /^\d{1,12}$/.test(stamp) && Math.abs(now.getTime() - Number(stamp) * 1_000) <= windowMs;
}

/** `sha256=<hex>`, `v1=<base64>`, or without what stands before it. */
function digestIn(written: string): Buffer[] {
  const text = written.replace(/^(?:sha256|v\d)=/, '');
  if (HEX.test(text)) return [Buffer.from(text, 'hex')];
  return BASE64.test(text) ? [Buffer.from(text, 'base64')] : [];
}
