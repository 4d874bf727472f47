import { execFile } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { libraryPath, unpackDebianPackages } from '@opentill/test-servers/debian-packages';

export interface Chromium {
  readonly executablePath: string;
  /** Complete environment. */
  readonly env: Record<string, string>;
}

const VERSION_DEADLINE_MS = 60_000;
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
/** Adds the unpacked fonts to those of the system. */
const FONTS = `cat >fonts.conf <<FONTS
<?xml version="1.0"?>
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>/usr/share/fonts</dir>
  <dir>$target/usr/share/fonts</dir>
  <cachedir>$target/fonts-cache</cachedir>
</fontconfig>
FONTS`;

let found: Promise<Chromium | undefined> | undefined;

/**
 * Finds an installed Chromium or Chrome, else unpacks Debian's package into the cache. Undefined, with one line on
 * standard error, if neither works: then browser tests skip.
 */
export async function findChromium(): Promise<Chromium | undefined> {
  return (found ??= find());
}

async function find(): Promise<Chromium | undefined> {
  const env = inheritedEnvironment();
  for (const executablePath of [...INSTALLED, chromium.executablePath()]) {
    if (!existsSync(executablePath) || isSnap(executablePath)) continue;
    if ((await whyBroken({ executablePath, env })) === undefined) return { executablePath, env };
  }
  const unpacked = await unpackDebianPackages({
    name: 'chromium',
    complete: ['chromium', 'fonts-dejavu-core', 'fonts-wqy-zenhei'], // the second font shows Chinese
    always: 'chromium',
    adapt: FONTS,
    say: (line) => process.stderr.write(`${line}\n`),
  });
  let reason = unpacked.ok ? undefined : unpacked.reason;
  if (unpacked.ok) {
    const { root } = unpacked;
    const candidate = {
      executablePath: join(root, 'usr/lib/chromium/chromium'),
      env: { ...env, ...libraryPath(root), FONTCONFIG_FILE: join(root, 'fonts.conf') },
    };
    reason = await whyBroken(candidate);
    if (reason === undefined) return candidate;
  }
  process.stderr.write(
    `SKIPPED: browser tests, because neither Chromium nor Chrome is installed. Install one.` +
      `${reason === undefined ? '' : ` Debian's package does not work: ${reason.replaceAll('\n', ' ')}`}\n`,
  );
  return undefined;
}

async function whyBroken({ executablePath, env }: Chromium): Promise<string | undefined> {
  const args = ['--no-sandbox', '--version'];
  try {
    await promisify(execFile)(executablePath, args, { env, timeout: VERSION_DEADLINE_MS });
    return undefined;
  } catch (error) {
    return (error as Error).message.trim();
  }
}

/** Ubuntu's script that starts a snap, which cannot use the profile folder that tests give it. */
function isSnap(file: string): boolean {
  const begin = Buffer.alloc(4_096);
  const descriptor = openSync(file, 'r');
  try {
    return begin.subarray(0, readSync(descriptor, begin)).includes('/snap/');
  } finally {
    closeSync(descriptor);
  }
}

function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
