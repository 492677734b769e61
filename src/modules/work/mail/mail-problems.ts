import { problem } from '../../../contract/problems.js';

export function messageNotFound(id: string): Error {
  return problem('mail_not_found', `message ${id} not found`);
}

export function rigNotFound(rig: string): Error {
  return problem('rig_not_found', `rig ${rig} not found`);
}
