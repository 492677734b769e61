import { applyDecorators, HttpCode, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { RouteConfig } from '@nestjs/platform-fastify';
import { documentation } from './operation.documentation.js';
import { routeParameters, type OperationSpec } from './operation.js';

const MUTATIONS: ReadonlySet<RequestMethod> = new Set([RequestMethod.POST, RequestMethod.PUT, RequestMethod.PATCH, RequestMethod.DELETE]);

/**
 * Declares a route as an operation of the contract. Every route carries one, above its `@Get`, `@Post` and so on:
 * what the front door asks of a request and may answer depends on the method.
 *
 * @example @Operation({ id: 'create-bead', summary: 'Create a bead', status: 201, response: Bead, problems: ['conflict'] })
 * @throws Error when it stands below the route's decorator, and for one that changes something and does not say what a key needs.
 */
export function Operation(spec: OperationSpec): MethodDecorator {
  return (target, key, descriptor) => {
    const method = Reflect.getMetadata(METHOD_METADATA, descriptor.value as object) as RequestMethod | undefined;
    if (method === undefined) throw new Error(`@Operation of ${spec.id} must stand above the decorator of its route`);
    if ((MUTATIONS.has(method) || spec.claims === true) && spec.public !== true && spec.needs === undefined)
      throw new Error(`${spec.id} does not say what a key needs for it`);
    const parameters = routeParameters(target.constructor, key);
    const readsQuery = parameters.some((p) => p.kind === RouteParamtypes.QUERY || p.kind === RouteParamtypes.REQUEST);
    const tag = target.constructor.name.replace(/Controller$/, '').toLowerCase();
    applyDecorators(
      HttpCode(spec.status ?? 200),
      RouteConfig({ operation: spec, noQuery: !readsQuery }),
      documentation(spec, { mutation: MUTATIONS.has(method), parameters, tag }),
    )(target, key, descriptor);
  };
}
