import ipaddr from 'ipaddr.js';

/** An entry of `SVC_ALLOWED_TARGETS`: a host with or without its port, an address, or a range of addresses. */
export interface Target {
  /** In lower case; an address without brackets. Absent for a range. */
  readonly host?: string;
  readonly port?: number;
  readonly range?: readonly [ipaddr.IPv4 | ipaddr.IPv6, number];
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;

/** What an entry means; undefined when it means nothing. */
export function parseTarget(entry: string): Target | undefined {
  const given = entry.toLowerCase();
  if (given.includes('/')) return ipaddr.isValidCIDR(given) ? { range: ipaddr.parseCIDR(given) } : undefined;
  if (ipaddr.IPv6.isValid(given)) return { host: ipaddr.IPv6.parse(given).toString() };
  const [, bracketed, bare, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(given) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const host = bracketed === undefined ? bare : ipaddr.IPv6.isValid(bracketed) ? ipaddr.IPv6.parse(bracketed).toString() : undefined;
  if (host === undefined || (bracketed === undefined && !HOST.test(host))) return undefined;
  return port === undefined ? { host } : { host, port };
}
