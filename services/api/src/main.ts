import { runAlone } from '@opentill/runtime/run-alone';
import { composeApi } from './compose.ts';

await runAlone('api', composeApi, process.env);
