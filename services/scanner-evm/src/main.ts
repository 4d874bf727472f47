import { runProcess } from '@opentill/runtime/run-process';
import { composeScanner } from './compose.ts';

await runProcess('scanner-evm', composeScanner, process.env);
