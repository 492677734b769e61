import { Module } from '@nestjs/common';
import { SessionsCoreModule } from '../sessions/sessions-core.module.js';
import { TurnsRepository } from './turns.repository.js';
import { UsageRecorder } from './usage-recorder.service.js';

/** Recording, for runners. Whoever ends sessions imports it too: open turns end with their process. */
@Module({ imports: [SessionsCoreModule], providers: [TurnsRepository, UsageRecorder], exports: [UsageRecorder] })
export class UsageCoreModule {}
