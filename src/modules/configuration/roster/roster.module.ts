import { Module } from '@nestjs/common';
import { RosterRepository } from './roster.repository.js';
import { RosterService } from './roster.service.js';

/** Rigs and agents of cities, for every family that addresses them. */
@Module({ providers: [RosterRepository, RosterService], exports: [RosterService] })
export class RosterModule {}
