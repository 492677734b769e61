import { Module } from '@nestjs/common';
import { OfferedWorkRepository } from './offered-work.repository.js';
import { OfferedWork } from './offered-work.service.js';

/** The demand for sessions, for who starts them. */
@Module({ providers: [OfferedWork, OfferedWorkRepository], exports: [OfferedWork] })
export class OfferedWorkModule {}
