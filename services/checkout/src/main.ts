import { parseArgs } from 'node:util';
import { exportPage } from './export-page.ts';
import { readPageAssets } from './page-assets.ts';
import { readTheme } from './read-theme.ts';
import { walletConnectSettings } from './walletconnect-settings.ts';

const USAGE =
  'node services/checkout/dist/main.js --api https://pay.example.com --out <folder> [--theme <file>]\n' +
  '  [--walletconnect-project-id <id> --walletconnect-relay-url wss://<relay>]';

async function run(): Promise<number> {
  const text = { type: 'string' } as const;
  const options = {
    api: text,
    out: text,
    theme: text,
    'walletconnect-project-id': text,
    'walletconnect-relay-url': text,
  };
  const { api, out, theme, ...given } = parseArgs({ options }).values;
  if (api === undefined || out === undefined || !URL.canParse(api)) {
    process.stderr.write(`${USAGE}\n`);
    return 1;
  }
  const [projectId, relayUrl] = [given['walletconnect-project-id'], given['walletconnect-relay-url']];
  const names = { projectId: '--walletconnect-project-id', relayUrl: '--walletconnect-relay-url' };
  const found = walletConnectSettings({ projectId, relayUrl }, names);
  if ('problems' in found) {
    process.stderr.write(`${found.problems.join('\n')}\n`);
    return 1;
  }
  const page = { assets: readPageAssets(), ...(await readTheme(theme)), walletConnect: found.settings };
  await exportPage({ ...page, apiUrl: api, folder: out });
  process.stdout.write(`${out}/index.html\n`);
  return 0;
}

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
