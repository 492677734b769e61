import { Module } from '@nestjs/common';
import { DirectoriesRepository } from './directories.repository.js';
import { DirectoriesService } from './directories.service.js';

/** Who has which directories, for every family that gives them to cities. */
@Module({ providers: [DirectoriesRepository, DirectoriesService], exports: [DirectoriesService] })
export class DirectoriesModule {}
