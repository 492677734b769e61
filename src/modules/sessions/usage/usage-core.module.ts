import { Module } from '@nestjs/common';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { TurnsRepository } from './turns.repository.js';
import { UsageRecorder } from './usage-recorder.service.js';

/** Recording, for runners. Whoever ends sessions imports it too: open turns end with their process. */
@Module({ imports: [SessionStoreModule], providers: [TurnsRepository, UsageRecorder], exports: [UsageRecorder] })
export class UsageCoreModule {}
