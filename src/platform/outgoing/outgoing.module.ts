import { Module } from '@nestjs/common';
import { OutgoingGuard } from './outgoing-guard.js';

/** Calls to addresses that users name. */
@Module({ providers: [OutgoingGuard], exports: [OutgoingGuard] })
export class OutgoingModule {}
