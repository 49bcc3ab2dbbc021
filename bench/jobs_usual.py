"""The service written in the usual way: FastAPI, pydantic models, SQLAlchemy's asyncio session on aiosqlite.

    jobs_usual.py FOLDER KEY        prints its port
"""

import json
import sys
import uuid
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, File, Form, HTTPException, Query, Request, Response, UploadFile
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy import event, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from starlette.concurrency import run_in_threadpool

import jobs_service as service

FOLDER, KEY = Path(sys.argv[1]), sys.argv[2]


class Base(DeclarativeBase):
    pass


class Key(Base):
    __tablename__ = "keys"
    id: Mapped[str] = mapped_column(primary_key=True)
    account: Mapped[str]
    secret_hash: Mapped[str]


class Job(Base):
    __tablename__ = "jobs"
    job_id: Mapped[str] = mapped_column(primary_key=True)
    account: Mapped[str]
    scenario: Mapped[str]
    status: Mapped[str]
    header: Mapped[str]
    policy_path: Mapped[str]
    num_episodes: Mapped[int]
    episodes_done: Mapped[int]
    created_at: Mapped[int]


class Shard(Base):
    __tablename__ = "shards"
    job_id: Mapped[str] = mapped_column(primary_key=True)
    shard: Mapped[int] = mapped_column(primary_key=True)
    first_episode: Mapped[int]
    end_episode: Mapped[int]
    state: Mapped[str]


class Progress(BaseModel):
    episodes_done: int
    episodes_total: int
    stage: str


class JobOut(BaseModel):
    job_id: str
    status: str
    verdict: str | None
    score: float | None
    composite_score: float | None
    progress_score: float | None
    safety_score: float | None
    consistency: float | None
    success_rate: float | None
    vlm_agreement: bool | None
    needs_review: bool
    review_reasons: list[str]
    review: dict[str, Any] | None
    blame: str | None
    reason: str | None
    error_message: str | None
    warnings: list[str]
    scenario: str
    scenario_version: str
    scenario_digest: str
    policy_name: str
    policy_sha256: str
    policy_identity: str
    num_episodes: int
    seed: int
    mode: str
    statistics: dict[str, Any] | None
    unsafe_success_share: float | None
    violation_severity: float | None
    quadrants: dict[str, Any] | None
    unsafe_time_s: float | None
    fingerprint: dict[str, Any] | None
    progress: Progress
    queue_position: int | None
    eta_s: float | None
    waiting_for: str | None
    created_at: str
    started_at: str | None
    completed_at: str | None
    video_url: str | None
    report_url: str | None
    attestation_url: str | None
    erased_at: str | None
    evidence_removed_at: str | None
    episode_details: list[dict[str, Any]]


class PageOut(BaseModel):
    jobs: list[JobOut]
    total: int
    limit: int
    offset: int


engine = create_async_engine(f"sqlite+aiosqlite:///{FOLDER}/jobs.db")
sessions = async_sessionmaker(engine, expire_on_commit=False)


@event.listens_for(engine.sync_engine, "connect")
def configured(connection, _record):
    cursor = connection.cursor()
    for pragma in service.PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


@asynccontextmanager
async def prepared(_app):
    async with engine.begin() as connection:
        for statement in service.SCHEMA.split(";")[:-1]:
            await connection.exec_driver_sql(statement)
        key_id, digest = service.digest_of(f"Bearer {KEY}")
        await connection.execute(insert(Key).values(id=key_id, account="lab", secret_hash=digest))
    yield


app, rates = FastAPI(lifespan=prepared), service.Rates()


@app.middleware("http")
async def observed(request: Request, call_next):
    response = await call_next(request)
    response.headers["x-request-id"] = str(uuid.uuid4())
    response.headers["x-content-type-options"] = "nosniff"
    response.headers["cache-control"] = "no-store"
    return response


@app.exception_handler(service.Refused)
async def refused(_request, error):
    return JSONResponse(error.body, error.status)


async def session():
    async with sessions() as opened:
        yield opened


Session = Annotated[AsyncSession, Depends(session)]


async def account(request: Request, response: Response, session: Session):
    key_id, digest = service.digest_of(request.headers.get("authorization"))
    key = await session.get(Key, key_id)
    if key is None or key.secret_hash != digest:
        raise service.Refused(401, "UNAUTHORIZED", "the API key is not known")
    response.headers.update(rates.admit(key_id))
    return key.account


Account = Annotated[str, Depends(account)]


def shown(job):
    return service.job(json.loads(job.header), job.status, job.episodes_done)


@app.post("/verify", status_code=201, response_model=JobOut)
async def create(
    response: Response, session: Session, account: Account, policy: Annotated[UploadFile, File()],
    scenario: Annotated[str, Form()], num_episodes: Annotated[int, Form(ge=1, le=1000)],
):
    data = await policy.read()
    await run_in_threadpool(service.checked, data)
    digest = await run_in_threadpool(service.keep, FOLDER, data)
    header = service.header(scenario, num_episodes, digest)
    job = Job(
        job_id=header["job_id"], account=account, scenario=scenario, status="QUEUED", header=json.dumps(header),
        policy_path=digest, num_episodes=num_episodes, episodes_done=0, created_at=0,
    )
    session.add(job)
    session.add(Shard(job_id=job.job_id, shard=0, first_episode=0, end_episode=num_episodes, state="QUEUED"))
    await session.commit()
    response.headers["location"] = f"/verify/{job.job_id}"
    return shown(job)


@app.get("/verify/{job_id}", response_model=JobOut)
async def read(job_id: str, session: Session, account: Account):
    job = await session.get(Job, job_id)
    if job is None or job.account != account:
        raise HTTPException(404)
    return shown(job)


@app.get("/verify", response_model=PageOut)
async def listed(
    session: Session, account: Account, limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0)] = 0,
):
    mine = select(Job).where(Job.account == account).order_by(Job.job_id.desc()).limit(limit).offset(offset)
    jobs = (await session.execute(mine)).scalars().all()
    count = select(func.count()).select_from(Job).where(Job.account == account)
    total = (await session.execute(count)).scalar_one()
    return {"jobs": [shown(job) for job in jobs], "total": total, "limit": limit, "offset": offset}


if __name__ == "__main__":
    service.serve(app, FOLDER, KEY)
