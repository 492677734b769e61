import { problem } from '../../../contract/problems.js';

export function noConvoy(id: string): Error {
  return problem('convoy_not_found', `convoy ${id} not found`);
}

export function notAConvoy(id: string): Error {
  return problem('invalid_request', `bead ${id} is not a convoy`, { at: 'path.id', value: id });
}
