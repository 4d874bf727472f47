import { join } from 'node:path';
import { CHECKOUT } from '../read-markdown.ts';

export const CHART = join(CHECKOUT, 'deploy/helm/opentill');
