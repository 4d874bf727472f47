import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ALARM_KINDS } from '@opentill/scanner/observe/alarms';
import { SERVICE_ROLES } from '@opentill/db/service-schema';
import { BROKER_SERVICES } from '@opentill/messaging/write-broker-users';
import { SWEEP_DELAYS } from '@opentill/domain/plan-sweeps';
import type { ConfigSchema } from '@opentill/runtime/config';
import { API_CONFIG_SCHEMA } from '@opentill/api/config';
import { brokerPasswordVariable, OPERATOR_CONFIG_SCHEMA, SETUP_CONFIG_SCHEMA } from '@opentill/cli/config';
import { createProgram } from '@opentill/cli/program';
import { TRACKER_CONFIG_SCHEMA } from '@opentill/confirmation-tracker/config';
import { WALLET_ALARM_KINDS } from '@opentill/payout-signer/observe/alarm-edges';
import { SWEEP_ALARM_KINDS } from '@opentill/payout-signer/sweeps/watch-sweeps';
import { OPS_CONFIG_SCHEMA } from '@opentill/ops/config';
import { SIGNER_CONFIG_SCHEMA } from '@opentill/payout-signer/config';
import { RATES_CONFIG_SCHEMA } from '@opentill/rates/config';
import { SCANNER_CONFIG_SCHEMA } from '@opentill/scanner-evm/config';
import { WEBHOOK_SENDER_CONFIG_SCHEMA } from '@opentill/webhook-sender/config';
import {
  commandLines,
  commandsOf,
  NOT_RUN,
  RUN_BY,
  spelledCommand,
  type SpelledCommand,
} from '../src/guide-book.ts';
import { CHECKOUT, codeSpans, fencedBlocks, readMarkdownFiles, tableUnder } from '../src/read-markdown.ts';
import { NEEDED_PORTS } from '../src/run-npm-start.ts';

const documents = readMarkdownFiles();
const textOf = (wanted: string): string => documents.find(({ name }) => name === wanted)!.text;
const rootPackage = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Created by commands, so missing in a fresh checkout. */
const MADE_BY_COMMANDS: ReadonlySet<string> = new Set(['tools/bench/results']);

describe.each(documents)('$name', ({ text }) => {
  it('names only existing files and folders', () => {
    const paths = codeSpans(text).filter((code) =>
      /^(libs|services|deploy|tools|\.ci)\/[\w./-]+$/.test(code),
    );
    const missing = paths.filter((path) => !existsSync(join(CHECKOUT, path)));
    expect(missing.filter((path) => !MADE_BY_COMMANDS.has(path))).toEqual([]);
  });

  it('names only existing scripts', () => {
    const scripts = [...text.matchAll(/\b(?:npm run(?: -s)?|pnpm) (?<name>[a-z][a-z:]*)/g)].map(
      (match) => match.groups!['name']!,
    );
    const ofPnpm = ['install', 'exec', 'version', 'commands'];
    expect(scripts.filter((name) => !(name in rootPackage.scripts) && !ofPnpm.includes(name))).toEqual([]);
  });
});

describe('deploy/guides/operations.md', () => {
  const operations = textOf('deploy/guides/operations.md');
  const named = (heading: string) =>
    tableUnder(operations, heading).flatMap(([cell = '']) => codeSpans(cell));

  it('explains every kind of incident, alarm and waiting sweep', () => {
    const schema = readFileSync(join(CHECKOUT, 'libs/db/golden/schema.txt'), 'utf8');
    const incidents = /incident_kind_check CHECK .*/.exec(schema)?.[0] ?? '';
    expect(named('Incidents').toSorted()).toEqual(
      [...incidents.matchAll(/'([A-Z_]+)'/g)].map(([, kind]) => kind).toSorted(),
    );
    expect(named('Alarms of a chain').toSorted()).toEqual([...ALARM_KINDS].toSorted());
    expect(named('Alarms of a wallet').toSorted()).toEqual([...WALLET_ALARM_KINDS].toSorted());
    expect(named('Alarms of sweeps').toSorted()).toEqual([...SWEEP_ALARM_KINDS].toSorted());
    expect(named('Sweeps').toSorted()).toEqual([...SWEEP_DELAYS].toSorted());
  });
});

describe('configuration.md', () => {
  const SCHEMAS = {
    api: API_CONFIG_SCHEMA,
    scanners: SCANNER_CONFIG_SCHEMA,
    tracker: TRACKER_CONFIG_SCHEMA,
    'webhook-sender': WEBHOOK_SENDER_CONFIG_SCHEMA,
    signer: SIGNER_CONFIG_SCHEMA,
    rates: RATES_CONFIG_SCHEMA,
    ops: OPS_CONFIG_SCHEMA,
    setup: SETUP_CONFIG_SCHEMA,
    CLI: OPERATOR_CONFIG_SCHEMA,
  } as const satisfies Record<string, ConfigSchema>;
  it.each(Object.entries(SCHEMAS))('the schema of %s is valid JSON Schema', (_, schema) => {
    expect(new Ajv2020().validateSchema({ type: 'object', ...schema })).toBe(true); // readConfig does not check it
  });

  type Reader = keyof typeof SCHEMAS;
  const WITH_BROKER: readonly Reader[] = ['api', 'scanners', 'tracker', 'webhook-sender', 'signer', 'ops'];
  const READERS: Readonly<Record<string, readonly Reader[]>> = {
    all: [...WITH_BROKER, 'rates'],
    'all but rates': WITH_BROKER,
  };

  interface Row {
    readonly variable: string;
    readonly readers: readonly string[];
    readonly defaultText: string;
  }

  const rows: readonly Row[] = tableUnder(textOf('deploy/guides/configuration.md'), 'Variables').flatMap(
    ([variables = '', readers = '', defaults = '']) => {
      const names = codeSpans(variables).flatMap((name) =>
        name.endsWith('<ROLE>')
          ? SERVICE_ROLES.map((role) => name.replace('<ROLE>', role.toUpperCase()))
          : name.endsWith('<SERVICE>')
            ? BROKER_SERVICES.map(brokerPasswordVariable)
            : [name],
      );
      const texts = defaults.split(', ');
      return names.map((variable, index) => ({
        variable,
        readers: readers.split(', ').flatMap((reader): readonly string[] => READERS[reader] ?? [reader]),
        defaultText: names.length === texts.length ? texts[index]! : defaults,
      }));
    },
  );

  it('names exactly the variables that services read', () => {
    const inTable = rows.flatMap(({ variable, readers }) =>
      readers.map((reader) => `${reader}: ${variable}`),
    );
    const inSchemas = Object.entries(SCHEMAS).flatMap(([reader, schema]) =>
      Object.keys(schema.properties).map((variable) => `${reader}: ${variable}`),
    );
    expect(inTable.toSorted()).toEqual(inSchemas.toSorted());
  });

  it('names the right defaults', () => {
    const shown = (value: unknown): string => {
      if (value === undefined || value === '') return '–';
      if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
      return String(value as string | number | boolean);
    };
    // Described in words, because they differ between services or are computed at start.
    const inWords = new Set(['DATABASE_POOL_MAX', 'HEALTH_PORT', 'INSTANCE_ID', 'HOST', 'CHAINS']);
    const wrong = rows.flatMap(({ variable, readers, defaultText }) => {
      if (inWords.has(variable)) return [];
      return readers.flatMap((reader) => {
        const schema: ConfigSchema | undefined = SCHEMAS[reader as Reader];
        const expected = shown(schema?.properties[variable]?.default);
        const stated = defaultText.replaceAll('`', '');
        return stated === expected ? [] : [`${reader}: ${variable} is ${expected}, not ${stated}`];
      });
    });
    expect(wrong).toEqual([]);
  });
});

const program = createProgram({
  env: {},
  clock: { now: () => new Date() },
  print: () => undefined,
  printError: () => undefined,
  askSecret: async () => '',
});

it('commands.md names every command of opentill once', () => {
  const wordsOf = (span: string): string => /^[a-z][a-z-]*(?: [a-z][a-z-]*)*/.exec(span)?.[0] ?? '';
  const named = tableUnder(textOf('services/cli/docs/commands.md'), 'Commands').flatMap(([commands = '']) => {
    // `webhook replay --event …`, `--order …`: spans that begin with `--` are options of the same command.
    const [first = '', ...rest] = codeSpans(commands).filter((span) => !span.startsWith('--'));
    // `merchant create`, `list`: later spans omit the group.
    const group = first.split(' ')[0]!;
    return [wordsOf(first), ...rest.map((span) => `${group} ${wordsOf(span)}`)];
  });
  expect(named.toSorted()).toEqual([...commandsOf(program).keys()].toSorted());
});

it("the shop of the SDK's README listens at its callback URL, on a free port", () => {
  const sdk = textOf('libs/sdk/README.md');
  const port = /listen\(process\.env\.PORT \?\? (\d+)\)/.exec(sdk)?.[1];
  expect(NEEDED_PORTS.map(String)).not.toContain(port);
  expect(sdk).toContain(`--callback-url http://localhost:${port}/callbacks\n`);
});

describe('commands of the guides', () => {
  const known = commandsOf(program);
  const isSnippet = ({ language }: { language: string }) => !['', 'mermaid'].includes(language);
  const blocks = documents.flatMap(({ name, text }) =>
    fencedBlocks(text)
      .filter(isSnippet)
      .map((block) => ({ document: name, ...block })),
  );
  const runnerOf = (document: string, mark: string | undefined) => RUN_BY[document]?.[mark ?? ''];
  const reasonFor = (document: string, text: string) =>
    NOT_RUN.find((one) => one.document === document && text.startsWith(one.begins))?.why;
  const isRun = ({ document, mark }: { document: string; mark: string | undefined }) =>
    runnerOf(document, mark) !== undefined;
  const spelled = (line: string) => spelledCommand(line, known);

  it('are run by a test or listed in NOT_RUN with a reason', () => {
    const unrun = blocks.filter(
      (block) => !isRun(block) && reasonFor(block.document, block.text) === undefined,
    );
    expect(unrun.map(({ document, mark, text }) => `${document} (${mark}): ${text.slice(0, 60)}`)).toEqual(
      [],
    );
  });

  it('exist for each entry of RUN_BY and NOT_RUN', () => {
    const marks = Object.entries(RUN_BY).flatMap(([document, byMark]) =>
      Object.keys(byMark).map((mark) => `${document}: ${mark}`),
    );
    const there = new Set(blocks.map(({ document, mark }) => `${document}: ${mark}`));
    expect(marks.filter((mark) => !there.has(mark))).toEqual([]);
    const idle = NOT_RUN.filter(
      ({ document, begins }) =>
        !blocks.some((block) => block.document === document && block.text.startsWith(begins)) &&
        !codeSpans(textOf(document)).some((span) => span.startsWith(begins)),
    );
    expect(idle).toEqual([]);
    const files: Readonly<Record<string, string>> = {
      sdk: 'readme.test.ts',
      'sdk-packed': 'packed.full.test.ts',
    };
    for (const [mark, runner] of Object.entries(RUN_BY['libs/sdk/README.md'] ?? {})) {
      const file = files[runner];
      if (file === undefined) continue; // other runners check GuideBook.left()
      const test = readFileSync(join(CHECKOUT, 'libs/sdk/test', file), 'utf8');
      expect(test).toContain(`block('${mark}')`);
    }
  });

  it('use existing commands and options', () => {
    const lines = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ document, text }) => commandLines(text).map((line) => [document, line] as const));
    const spans = documents.flatMap(({ name, text }) => codeSpans(text).map((span) => [name, span] as const));
    const wrong = [...lines, ...spans].filter(([, line]) => {
      if (!/^(opentill|npm run -s opentill --) [a-z]/.test(line) || / devnet /.test(line)) return false;
      const command = spelled(line);
      if (command === undefined) return true;
      return command.options.some((option) => !known.get(command.path)?.has(option));
    });
    expect(wrong).toEqual([]);
  });

  it('are run by a test also when a sentence names them', () => {
    const run: readonly SpelledCommand[] = blocks
      .filter((block) => block.language === 'sh' && isRun(block))
      .flatMap(({ text }) => commandLines(text).flatMap((line) => spelled(line) ?? []));
    expect(run.length).toBeGreaterThan(40);
    const isCovered = ({ path, options }: SpelledCommand) =>
      run.some((one) => one.path === path && options.every((option) => one.options.includes(option)));
    const isShell = (span: string) =>
      /^(npm|pnpm|npx|node|docker|docker-compose|curl|deploy\/\S+) \S/.test(span);
    const inGuides = documents.filter(({ name }) =>
      /^(README\.md|deploy\/guides\/.+|libs\/sdk\/.+)$/.test(name),
    );
    const unrun = inGuides.flatMap(({ name, text }) =>
      codeSpans(text)
        .filter((span) => {
          if (reasonFor(name, span) !== undefined) return false;
          const command = spelled(span);
          if (command !== undefined) return !isCovered(command);
          return isShell(span) && !blocks.some((block) => isRun(block) && block.text.includes(span));
        })
        .map((span) => `${name}: ${span}`),
    );
    expect(unrun).toEqual([]);
  });
});
