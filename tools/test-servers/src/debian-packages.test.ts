import { expect, test } from 'vitest';
import { parseOsRelease } from './debian-packages.ts';
import { installAdvice } from './rabbitmq-install.ts';

const families = (text: string): readonly string[] => parseOsRelease(text).families;

test('names the release of a system and the distributions that it resembles', () => {
  const mint = 'NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="22.1"\n';
  expect(parseOsRelease(mint)).toEqual({
    release: `linuxmint-22.1-${process.arch}`,
    families: ['linuxmint', 'ubuntu', 'debian'],
  });
  const sid = 'PRETTY_NAME="Debian GNU/Linux trixie/sid"\nVERSION_CODENAME=sid\nID=debian\n';
  expect(parseOsRelease(sid).release).toBe(`debian-sid-${process.arch}`);
  expect(parseOsRelease('ID="../x y"').release).toBe(`..xy--${process.arch}`);
});

test('names the command that installs RabbitMQ on each system', () => {
  expect(installAdvice(['darwin'])).toBe('run "brew install rabbitmq"');
  expect(installAdvice(families('ID=fedora\n'))).toBe('run "sudo dnf install rabbitmq-server"');
  expect(installAdvice(families('ID="rocky"\nID_LIKE="rhel centos fedora"\n'))).toContain('dnf');
  expect(installAdvice(families('ID=manjaro\nID_LIKE=arch\n'))).toContain('pacman -S rabbitmq');
  expect(installAdvice(families('ID=nixos\n'))).toBe('install RabbitMQ');
});
