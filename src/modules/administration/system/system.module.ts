import { Module } from '@nestjs/common';
import { Clock } from '../../../platform/time/clock.js';
import { SystemController } from './system.controller.js';
import { SystemRepository } from './system.repository.js';
import { SystemService } from './system.service.js';

/** Served in every role. */
@Module({ controllers: [SystemController], providers: [SystemRepository, SystemService, { provide: Clock, useValue: new Clock() }] })
export class SystemModule {}
