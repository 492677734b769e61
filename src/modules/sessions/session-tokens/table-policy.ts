import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { SessionPolicy, type Asked } from '../../../platform/http/authenticator.js';
import { ADAPTERS_MAY, ALLOWED } from './allowed-operations.js';
import { SessionCallersRepository } from './session-callers.repository.js';

/** Sessions may what the table allows, and nothing else. */
@Injectable()
export class TablePolicy extends SessionPolicy {
  constructor(private readonly repository: SessionCallersRepository) {
    super();
  }

  override admits(operation: string, { adapter }: Principal): boolean {
    if (adapter !== undefined) return ADAPTERS_MAY.has(operation);
    return Object.hasOwn(ALLOWED, operation);
  }

  override async refusal({ session }: Principal, operation: string, asked: Asked): Promise<string | undefined> {
    const check = Object.hasOwn(ALLOWED, operation) ? ALLOWED[operation] : undefined;
    if (session === undefined || check === undefined) return `sessions may not use ${operation}`;
    return check(session, asked, this.repository);
  }
}
