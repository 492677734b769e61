import { networkInterfaces } from 'node:os';
import { isLoopbackHost, type AppConfig } from '../config/config.js';

/**
 * The Host check that keeps a page on the internet from talking to a loopback service by rebinding its own name.
 * Loopback names and literals always pass, configured names and own addresses pass, everything else is refused. Ports do not matter.
 */
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:[\]@/\\?#,]+)(?::\d{1,5})?$/;
const MAPPED_DOTTED = /^::ffff:127(\.\d{1,3}){3}$/;
const MAPPED_HEX = /^::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}$/;
const CACHE_MAX = 256;
/** A name has 253 characters at the most, an address fewer; a header may have a megabyte, and is kept here. */
const LONGEST = 300;

/** The host of a Host header or of an allow-list entry, lower-case and without port; undefined when it is not one. */
export function hostName(header: string): string | undefined {
  const lower = header.toLowerCase();
  if (lower === '::1') return lower;
  const host = HOST.exec(lower)?.[1];
  return host?.startsWith('[') ? host.slice(1, -1) : host;
}

export function isLoopbackName(host: string): boolean {
  if (MAPPED_DOTTED.test(host)) return validOctets(host.slice('::ffff:'.length));
  if (MAPPED_HEX.test(host)) return true;
  return isLoopbackHost(host) && (host === 'localhost' || host === '::1' || validOctets(host));
}

function validOctets(ip: string): boolean {
  return ip.split('.').every((octet) => Number(octet) <= 255 && (octet.length === 1 || !octet.startsWith('0')));
}

/**
 * Addresses of this machine, where it listens to the network: what scrapes a container knows it by nothing else. No page can have one as its
 * name, which is what the check is against.
 */
export function ownAddresses({ loopback }: Pick<AppConfig, 'loopback'>): string[] {
  if (loopback) return [];
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
}

/** Answers from a small cache: a process sees few different Host headers. */
export class HostAllowList {
  readonly #configured: ReadonlySet<string>;
  readonly #known = new Map<string, boolean>();

  constructor(allowed: readonly string[]) {
    this.#configured = new Set(allowed.map((entry) => hostName(entry)).filter((entry) => entry !== undefined));
  }

  allows(header: string | undefined): boolean {
    if (header === undefined || header.length > LONGEST) return false;
    const known = this.#known.get(header);
    if (known !== undefined) return known;
    const host = hostName(header);
    const allowed = host !== undefined && (isLoopbackName(host) || this.#configured.has(host));
    if (this.#known.size >= CACHE_MAX) this.#known.clear();
    this.#known.set(header, allowed);
    return allowed;
  }
}
