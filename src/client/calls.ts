import type { FetchResponse } from 'openapi-fetch';
import type { components, paths } from './api.gen.js';

export type Schemas = components['schemas'];
export type Paths = paths;
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths of the document that have this method. */
export type PathsWith<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];

type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O extends object> ? O : never;
type Parameters<O> = O extends { parameters: infer T } ? T : object;

/** What the client says itself. */
type OwnHeaders = 'X-SVC-Request' | 'Idempotency-Key';
type Section<K extends string, T> = [T] extends [never] ? object : object extends T ? { readonly [N in K]?: T } : { readonly [N in K]: T };
type Group<O, K extends 'path' | 'query'> = K extends keyof Parameters<O> ? Section<K, Exclude<Parameters<O>[K], undefined>> : object;
type Others<T> = [T] extends [never] ? object : Section<'header', Omit<T, OwnHeaders>>;
type Headers<O> = 'header' extends keyof Parameters<O> ? Others<Exclude<Parameters<O>['header'], undefined>> : object;
type Json<T> = T extends { content: { 'application/json': infer B } } ? B : never;
type Body<O> = O extends { requestBody: infer R }
  ? { readonly body: Json<R> }
  : O extends { requestBody?: infer R }
    ? Section<'body', Json<Exclude<R, undefined>>>
    : object;

export interface Common {
  /** Ends the call, and whatever it waits for. */
  readonly signal?: AbortSignal | undefined;
  /** How long all tries may take together. */
  readonly timeoutMs?: number;
  /** For what is repeated over lives of the program; without one each call has its own. */
  readonly idempotencyKey?: string | undefined;
}

/** What a call takes: the parameters and the body of the operation, and what all have in common. */
export type Options<P extends keyof paths, M extends Method> = Group<Operation<P, M>, 'path'> &
  Group<Operation<P, M>, 'query'> &
  Headers<Operation<P, M>> &
  Body<Operation<P, M>> &
  Common;

/** May be left out where nothing in it is required. */
export type Given<T> = object extends T ? [options?: T] : [options: T];

/** The body of the answer; undefined where there is none. */
export type Data<P extends keyof paths, M extends Method> =
  Operation<P, M> extends infer O extends Record<string | number, unknown>
    ? NonNullable<FetchResponse<O, object, `${string}/${string}`>['data']>
    : never;

export interface Answer<T> {
  readonly data: T;
  readonly response: Response;
}

/** How the parts of the client ask the service. */
export interface Caller {
  call<M extends Method, P extends PathsWith<M>>(method: M, path: P, ...given: Given<Options<P, M>>): Promise<Answer<Data<P, M>>>;
  get<P extends PathsWith<'get'>>(path: P, ...given: Given<Options<P, 'get'>>): Promise<Data<P, 'get'>>;
  post<P extends PathsWith<'post'>>(path: P, ...given: Given<Options<P, 'post'>>): Promise<Data<P, 'post'>>;
  open<P extends PathsWith<'get'>>(path: P, options: Options<P, 'get'> & Opening): Promise<ReadableStream<Uint8Array> | undefined>;
}

/** Of a stream. */
export interface Opening {
  readonly signal: AbortSignal;
  /** Told the response before its first frame. */
  readonly onOpen?: (response: Response) => void;
}
