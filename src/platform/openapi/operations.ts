import { RequestMethod, type DynamicModule, type Type } from '@nestjs/common';
import { METHOD_METADATA, MODULE_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { OPERATION_METADATA, routeParameters, type OperationSpec, type RouteParameter } from '../http/operation.decorator.js';

/** The operations of an application, read from its modules' metadata: nothing is instantiated, no database is needed. */
export interface RouteOperation {
  /** Lower case, as in the document. */
  readonly method: string;
  /** With `{parameters}`. */
  readonly path: string;
  readonly pathParameters: readonly string[];
  readonly spec: OperationSpec;
  readonly parameters: readonly RouteParameter[];
  readonly tag: string;
}

type ModuleLike = Type | DynamicModule;

/**
 * Every operation reachable from `root`, in the order of path and method.
 *
 * @throws Error when a route has no `@Operation`, or when two share an id or a path and method.
 */
export function collectOperations(root: ModuleLike): RouteOperation[] {
  const controllers = new Set<Type>();
  collectControllers(root, controllers, new Set());
  const found = [...controllers].flatMap((controller) => operationsOf(controller));
  const ids = new Set<string>();
  const places = new Set<string>();
  for (const { spec, method, path } of found) {
    if (ids.has(spec.id)) throw new Error(`two operations are called ${spec.id}`);
    if (places.has(`${method} ${path}`)) throw new Error(`two operations serve ${method} ${path}`);
    ids.add(spec.id);
    places.add(`${method} ${path}`);
  }
  return found.sort((a, b) => compare(a.path, b.path) || compare(a.method, b.method));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function collectControllers(node: unknown, into: Set<Type>, seen: Set<unknown>): void {
  if (node === null || node === undefined || seen.has(node)) return;
  seen.add(node);
  const dynamic = typeof node === 'object' ? (node as DynamicModule) : undefined;
  const type = dynamic === undefined ? (node as Type) : dynamic.module;
  if (typeof type !== 'function') return;
  const read = (key: string): unknown[] => (Reflect.getMetadata(key, type) ?? []) as unknown[];
  for (const controller of [...read(MODULE_METADATA.CONTROLLERS), ...(dynamic?.controllers ?? [])]) into.add(controller as Type);
  for (const imported of [...read(MODULE_METADATA.IMPORTS), ...(dynamic?.imports ?? [])]) collectControllers(imported, into, seen);
}

function operationsOf(controller: Type): RouteOperation[] {
  const prefixes = paths(Reflect.getMetadata(PATH_METADATA, controller));
  const prototype = controller.prototype as Record<string, unknown>;
  const found: RouteOperation[] = [];
  for (const key of Object.getOwnPropertyNames(prototype)) {
    const handler = prototype[key];
    if (key === 'constructor' || typeof handler !== 'function') continue;
    const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
    if (method === undefined) continue;
    const spec = Reflect.getMetadata(OPERATION_METADATA, handler) as OperationSpec | undefined;
    if (spec === undefined) throw new Error(`${controller.name}.${key} is a route without @Operation`);
    const suffixes = paths(Reflect.getMetadata(PATH_METADATA, handler));
    const parameters = routeParameters(controller, key);
    for (const url of prefixes.flatMap((prefix) => suffixes.map((suffix) => join(prefix, suffix)))) {
      const pathParameters = [...url.matchAll(/:(\w+)/g)].map((match) => match[1]!);
      const path = url.replace(/:(\w+)/g, '{$1}');
      const tag = spec.tag ?? controller.name.replace(/Controller$/, '').toLowerCase();
      found.push({ method: RequestMethod[method].toLowerCase(), path, pathParameters, spec, parameters, tag });
    }
  }
  return found;
}

function paths(metadata: unknown): string[] {
  return [(metadata ?? '') as string | string[]].flat();
}

function join(prefix: string, suffix: string): string {
  const parts = [prefix, suffix].flatMap((part) => part.split('/')).filter((part) => part !== '');
  return `/${parts.join('/')}`;
}
