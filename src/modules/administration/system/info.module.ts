import { Module } from '@nestjs/common';
import { Clock } from '../../../platform/time/clock.js';
import { InfoController } from './info.controller.js';
import { InfoRepository } from './info.repository.js';
import { InfoService } from './info.service.js';

/** Served by api processes. */
@Module({ controllers: [InfoController], providers: [InfoRepository, InfoService, { provide: Clock, useValue: new Clock() }] })
export class InfoModule {}
