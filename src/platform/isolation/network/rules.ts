/** Whom a session's programs may call beside our API: nobody, or hosts by name, where `*.` stands for all names below one. */
export type HostRule = 'api' | readonly string[];

/** Whether every rule names the host. */
export function allowsHost(rules: readonly HostRule[], host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return rules.every((rule) => rule !== 'api' && rule.some((entry) => fits(entry.toLowerCase(), name)));
}

function fits(entry: string, name: string): boolean {
  return entry.startsWith('*.') ? name.length > entry.length - 1 && name.endsWith(entry.slice(1)) : name === entry;
}
