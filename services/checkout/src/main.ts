import { parseArgs } from 'node:util';
import { exportPage } from './export-page.ts';
import { readPageAssets } from './page-assets.ts';
import { readTheme } from './read-theme.ts';

const USAGE =
  'node services/checkout/dist/main.js --api https://pay.example.com --out <folder> [--theme <file>]';

async function run(): Promise<number> {
  const options = { api: { type: 'string' }, out: { type: 'string' }, theme: { type: 'string' } } as const;
  const { api, out, theme } = parseArgs({ options }).values;
  if (api === undefined || out === undefined || !URL.canParse(api)) {
    process.stderr.write(`${USAGE}\n`);
    return 1;
  }
  await exportPage({ assets: readPageAssets(), ...(await readTheme(theme)), apiUrl: api, folder: out });
  process.stdout.write(`${out}/index.html\n`);
  return 0;
}

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
