-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "pet_status" AS ENUM ('available', 'pending', 'sold');

-- CreateEnum
CREATE TYPE "plan" AS ENUM ('free', 'pro', 'enterprise');

-- CreateEnum
CREATE TYPE "deploy_status" AS ENUM ('succeeded', 'failed');

-- CreateEnum
CREATE TYPE "domain_status" AS ENUM ('pending', 'verified', 'live', 'drifted', 'failed');

-- CreateEnum
CREATE TYPE "certificate_status" AS ENUM ('ordering', 'issued', 'failed');

-- CreateTable
CREATE TABLE "pet" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "category_id" BIGINT NOT NULL,
    "status" "pet_status" NOT NULL DEFAULT 'available',

    CONSTRAINT "pet_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "project" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "plan" "plan" NOT NULL DEFAULT 'free',
    "deployed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deploy" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "status" "deploy_status" NOT NULL,
    "upstream" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "deploy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "domain" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "hostname" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "status" "domain_status" NOT NULL,
    "epoch" INTEGER NOT NULL DEFAULT 1,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "findings" JSONB NOT NULL DEFAULT '[]',
    "observation" JSONB,
    "added_at" TIMESTAMPTZ(3) NOT NULL,
    "pending_since" TIMESTAMPTZ(3) NOT NULL,
    "last_checked_at" TIMESTAMPTZ(3),
    "next_check_at" TIMESTAMPTZ(3),
    "verified_at" TIMESTAMPTZ(3),
    "missed_at" TIMESTAMPTZ(3),
    "escalate_at" TIMESTAMPTZ(3),
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "domain_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "event" (
    "id" BIGSERIAL NOT NULL,
    "domain_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "certificate" (
    "id" UUID NOT NULL,
    "domain_id" UUID NOT NULL,
    "hostname" TEXT NOT NULL,
    "status" "certificate_status" NOT NULL,
    "sealed_key" BYTEA NOT NULL,
    "order_url" TEXT,
    "chain" TEXT,
    "issuer" TEXT,
    "issued_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "problem" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "certificate_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "challenge" (
    "token" TEXT NOT NULL,
    "hostname" TEXT NOT NULL,
    "key_authorization" TEXT NOT NULL,
    "certificate_id" UUID NOT NULL,

    CONSTRAINT "challenge_pkey" PRIMARY KEY ("token")
);

-- CreateTable
CREATE TABLE "escalation" (
    "id" UUID NOT NULL,
    "domain_id" UUID NOT NULL,
    "cause" TEXT NOT NULL,
    "evidence" JSONB NOT NULL,
    "next_action" TEXT NOT NULL,
    "opened_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "escalation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "acme_account" (
    "directory_url" TEXT NOT NULL,
    "account_url" TEXT,
    "sealed_key" BYTEA NOT NULL,

    CONSTRAINT "acme_account_pkey" PRIMARY KEY ("directory_url")
);

-- CreateTable
CREATE TABLE "local_authority" (
    "id" TEXT NOT NULL,
    "certificate" TEXT NOT NULL,
    "sealed_key" BYTEA NOT NULL,

    CONSTRAINT "local_authority_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "turn" (
    "name" TEXT NOT NULL,
    "taken_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "turn_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE INDEX "pet_status_id_idx" ON "pet"("status", "id");

-- CreateIndex
CREATE UNIQUE INDEX "project_slug_key" ON "project"("slug");

-- CreateIndex
CREATE INDEX "deploy_project_id_created_at_idx" ON "deploy"("project_id", "created_at" DESC);

-- CreateIndex
CREATE INDEX "domain_waiting_idx" ON "domain"("status", "id") WHERE (removed_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "domain_project_id_hostname_key" ON "domain"("project_id", "hostname");

-- CreateIndex
CREATE UNIQUE INDEX "domain_held_hostname_key" ON "domain"("hostname") WHERE (removed_at IS NULL AND status IN ('verified', 'live', 'drifted'));

-- CreateIndex
CREATE INDEX "event_domain_id_id_idx" ON "event"("domain_id", "id" DESC);

-- CreateIndex
CREATE INDEX "certificate_domain_id_created_at_idx" ON "certificate"("domain_id", "created_at" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "certificate_open_order_key" ON "certificate"("domain_id") WHERE (status = 'ordering');

-- CreateIndex
CREATE INDEX "challenge_certificate_id_idx" ON "challenge"("certificate_id");

-- CreateIndex
CREATE INDEX "escalation_domain_id_opened_at_idx" ON "escalation"("domain_id", "opened_at" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "escalation_open_key" ON "escalation"("domain_id") WHERE (closed_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "api_key_digest_key" ON "api_key"("digest");

-- AddForeignKey
ALTER TABLE "deploy" ADD CONSTRAINT "deploy_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "domain" ADD CONSTRAINT "domain_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "project"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "event" ADD CONSTRAINT "event_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "certificate" ADD CONSTRAINT "certificate_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "challenge" ADD CONSTRAINT "challenge_certificate_id_fkey" FOREIGN KEY ("certificate_id") REFERENCES "certificate"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "escalation" ADD CONSTRAINT "escalation_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domain"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

