import type { RouteOptions } from 'fastify';

/** Which paths exist with which methods: tells an unknown path (404) from a known one with another method (405). */
export class RouteTable {
  readonly #methods = new Map<string, Set<string>>();
  #patterns: { pattern: RegExp; methods: Set<string> }[] | undefined;

  add(route: Pick<RouteOptions, 'url' | 'method'>): void {
    let methods = this.#methods.get(route.url);
    if (methods === undefined) this.#methods.set(route.url, (methods = new Set()));
    for (const method of [route.method].flat()) methods.add(method.toUpperCase());
    this.#patterns = undefined;
  }

  /** The methods of a path, sorted, or undefined when there is no such path. */
  allow(path: string): string[] | undefined {
    this.#patterns ??= [...this.#methods].map(([url, methods]) => ({ pattern: compile(url), methods }));
    const found = new Set<string>();
    for (const { pattern, methods } of this.#patterns) if (pattern.test(path)) for (const method of methods) found.add(method);
    return found.size === 0 ? undefined : [...found, 'OPTIONS'].sort();
  }
}

function compile(url: string): RegExp {
  const source = url
    .split('/')
    .map((segment) => (segment === '*' ? '.*' : segment.startsWith(':') ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('/');
  return new RegExp(`^${source}$`);
}
