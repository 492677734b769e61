const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

/** Where a link of somebody else leads, and the host that its words do not say; undefined where it must not be one. */
export function linkOf(href: string, words: string): { readonly href: string; readonly host: string | undefined } | undefined {
  const url = URL.parse(href);
  // What stands before an `@` looks like the host and is none.
  if (url === null || !SCHEMES.has(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  const says = url.protocol === 'mailto:' ? url.pathname : url.host;
  return { href: url.href, host: words === href || words === says || words.startsWith(`${url.protocol}//${url.host}/`) ? undefined : says };
}
