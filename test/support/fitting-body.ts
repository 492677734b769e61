import type { DocumentedOperation } from './contract.js';
import { workBodies, type WorkExamples } from './work-examples.js';

/**
 * A body that would be accepted: the example of the document, unless it has to name what is there.
 * @param own what a test says instead, by operation
 */
export function fittingBody(
  { id, definition }: DocumentedOperation,
  examples: WorkExamples,
  own: Readonly<Record<string, object>> = {},
): object | undefined {
  const { requestBody } = definition;
  const example = requestBody?.content['application/json']?.example;
  return own[id] ?? workBodies(examples)[id] ?? example ?? (requestBody === undefined ? undefined : {});
}
