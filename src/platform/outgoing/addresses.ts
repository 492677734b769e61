import ipaddr from 'ipaddr.js';

/** Public by its number, but answered by the cloud's own services inside a machine's network. */
const CLOUD_SERVICES = new Set(['168.63.129.16']);
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether anybody may be called there: a globally routed unicast address. Those that carry an IPv4 address inside
 * (mapped, translated, tunnelled) are not, whatever that is.
 */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (CLOUD_SERVICES.has(parsed.toString()) || parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}

/** An address in its one spelling, also from a decimal, octal or hexadecimal form; undefined for a name. */
export function literalOf(host: string): string | undefined {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (ipaddr.IPv6.isValid(bare)) return ipaddr.IPv6.parse(bare).toString();
  // The forms that resolvers take: fewer than four parts, leading zeros for octal, 0x for hexadecimal.
  return ipaddr.IPv4.isValid(bare) ? ipaddr.IPv4.parse(bare).toString() : undefined;
}
