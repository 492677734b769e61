interface Trusted {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): string };
}

let policy: ReturnType<Trusted['createPolicy']> | undefined;

/** The address of a worker, under the page's one policy: nothing but our own files. */
export function trusted(url: string): unknown {
  const types = (globalThis as { trustedTypes?: Trusted }).trustedTypes;
  if (types === undefined) return url;
  policy ??= types.createPolicy('svc-worker', {
    createScriptURL: (asked) => {
      const { origin, pathname } = new URL(asked, location.href);
      if (origin !== location.origin || !pathname.startsWith('/ui/')) throw new TypeError(`not a script of this page: ${pathname}`);
      return asked;
    },
  });
  return policy.createScriptURL(url);
}
