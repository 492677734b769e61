import { Module } from '@nestjs/common';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { TranscriptLogRepository } from './transcript-log.repository.js';
import { TranscriptLogService } from './transcript-log.service.js';

/** Writing logs of sessions, for runners and for every family that says something in a transcript. */
@Module({ imports: [SessionStoreModule], providers: [TranscriptLogRepository, TranscriptLogService], exports: [TranscriptLogService] })
export class TranscriptLogModule {}
